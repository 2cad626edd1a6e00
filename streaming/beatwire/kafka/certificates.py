"""Why a broker's certificate is not trusted: librdkafka names the same cause for all of them.

In: addresses and librdkafka properties. Out: the reason of OpenSSL, over connections of its own. No state.
"""

import re
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path

_HOST_PORT = re.compile(r"(?:\[([^\[\]]+)\]|([^\[\]\s/,:]+)):(\d+)")


def places_in(bootstrap: str) -> list[tuple[str, int]]:
    """Return host and port of each address that has a port.

    >>> places_in("kafka-1:9092, [2001:db8::1]:9093, ssl://kafka-2:9094")
    [('kafka-1', 9092), ('2001:db8::1', 9093), ('kafka-2', 9094)]
    """
    return [(in_brackets or name, int(port)) for in_brackets, name, port in _HOST_PORT.findall(bootstrap)]


def distrust(bootstrap: str, properties: Mapping[str, str], *, timeout_s: float = 2.0) -> str:
    """Return which certificate is not trusted and why; empty if none is found.

    Parameters
    ----------
    bootstrap
        ``host:port[,host:port...]``.
    properties
        Of the client: its authorities, and whether names are compared.
    """
    try:
        context = _context(properties)
    except (OSError, ValueError):  # librdkafka reads more forms than Python
        return ""
    for host, port in places_in(bootstrap):
        try:
            with socket.create_connection((host, port), timeout_s) as plain:
                context.wrap_socket(plain, server_hostname=host).close()
        except ssl.SSLCertVerificationError as error:
            why = error.verify_message.rstrip(".")
            return f"{host}:{port}: {why}" + (" (ssl.ca.location)" if "issuer" in why or "signed" in why else "")
        except (OSError, ValueError):
            continue
    return ""


def _context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """Return what trusts the authorities that a client trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = properties.get("ssl.endpoint.identification.algorithm", "https") != "none"
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    file, text = properties.get("ssl.ca.location", "probe"), properties.get("ssl.ca.pem")
    if text:
        context.load_verify_locations(cadata=text)
    elif file == "probe":
        context.load_default_certs()
    elif Path(file).is_dir():
        context.load_verify_locations(capath=file)
    else:
        context.load_verify_locations(cafile=file)
    return context
