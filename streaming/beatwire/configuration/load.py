"""The three sources of the configuration, merged and checked.

In: a TOML file, environment variables ``BEATWIRE_SECTION__KEY``, options; each overrides the one before. Out: a
`Loaded`: the configuration, and where each value came from. No state. An error names the source, the key, what was
expected and what was found; the value of a secret is left out.
"""

import codecs
import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import EnvSettingsSource, SettingsError, TomlConfigSettingsSource

from beatwire.configuration.keys import DELIMITER, PREFIX, Configuration, flatten, keys
from beatwire.configuration.ranges import ASCENDING
from beatwire.errors import UserError
from beatwire.kafka.properties import MASKED, check_property, is_secret, without_secrets

DEFAULT = "default"
PROPERTIES = "kafka.properties"
SECRETS = {"page.token", "registry.user_info"}
# Addresses, in which a user and a password may stand before an "@".
ADDRESSES = {"kafka.bootstrap", "registry.url"}
# Variables with names of their own: those of compose/ and of the page.
ALIASES = {f"{PREFIX}BOOTSTRAP": "kafka.bootstrap", f"{PREFIX}TOKEN": "page.token"}

_PROPERTY = f"{PREFIX}KAFKA{DELIMITER}PROPERTIES{DELIMITER}"

# Key, or kafka.properties.NAME -> (value, where it came from).
Values = dict[str, tuple[Any, str]]


@dataclass(frozen=True)
class Loaded:
    """A configuration and where its values came from.

    values   the configuration
    origins  key, or kafka.properties.NAME -> origin; keys that have their default are left out
    """

    values: Configuration
    origins: Mapping[str, str]

    def origin(self, key: str) -> str:
        """Return where the value of a key came from."""
        return self.origins.get(key, DEFAULT)


def load(
    path: Path | None = None,
    options: Mapping[str, tuple[str, Any]] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Loaded:
    """Read the sources.

    Parameters
    ----------
    path
        The file; None: there is none.
    options
        Key, or ``kafka.properties.NAME`` -> the option and its value; None as value: the option was not given.
    environment
        The variables; None: those of this process.

    Returns
    -------
    Loaded
        The configuration, and where its values came from.

    Raises
    ------
    UserError
        A source cannot be read, a key is not known, a property is reserved, a value is out of its range, or two limits
        are in the wrong order.
    """
    environment = os.environ if environment is None else environment
    given = {key: (value, option) for key, (option, value) in (options or {}).items() if value is not None}
    found = (from_file(path) if path is not None else {}) | from_environment(environment) | given
    for key, (value, origin) in found.items():
        _check_key(key, value, origin)
    loaded = Loaded(_validated(found), {key: origin for key, (_, origin) in found.items()})
    _check_order(loaded)
    return loaded


def from_file(path: Path) -> Values:
    """Return the values of a file."""
    try:
        if not path.is_file():
            got = "which is a folder" if path.is_dir() else "which there is not"
            raise UserError(f"--config: expected a file; got {str(path)!r}, {got}")
        tables = TomlConfigSettingsSource(Configuration, path)()
    except tomllib.TOMLDecodeError as error:
        has_mark = path.read_bytes().startswith(codecs.BOM_UTF8)
        got = "a byte-order mark before it (save as UTF-8 without one)" if has_mark else str(error)
        raise UserError(f"{path.name}: expected TOML; got: {got}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path.name}: expected a file that can be read; got: {error}") from error
    return {key: (value, f"{path.name}:{key}") for key, value in _entries(tables).items()}


def from_environment(environment: Mapping[str, str]) -> Values:
    """Return the values of environment variables, the short ones over the others; empty ones count as not set.

    ``BEATWIRE_KAFKA__PROPERTIES__SASL_PASSWORD`` is the property ``sasl.password``: a shell takes no dots in a name.
    """
    own = {name: value for name, value in environment.items() if name.startswith(PREFIX) and value}
    properties = {name: value for name, value in own.items() if name.startswith(_PROPERTY)}
    _check_variables(set(own) - set(properties))
    try:
        source = EnvSettingsSource(Configuration)
        source.env_vars = {name.lower(): value for name, value in own.items() if name not in properties}
        tables = source()
    except SettingsError as error:
        raise UserError(f"environment: expected JSON in a variable that holds a table; got: {error}") from error
    found: Values = {}
    for key, value in _entries(tables).items():
        section, _, rest = key.partition(".")
        name = f"{PREFIX}{section}{DELIMITER}{rest.partition('.')[0]}".upper()
        found[key] = value, f"environment variable {name}"
    for name, value in properties.items():
        key = f"{PROPERTIES}.{name.removeprefix(_PROPERTY).lower().replace('_', '.')}"
        found[key] = value, f"environment variable {name}"
    short = {key: (own[name], f"environment variable {name}") for name, key in ALIASES.items() if name in own}
    return found | short


def check_with_librdkafka(loaded: Loaded, *, monitors: bool = False) -> None:
    """Check the properties of Kafka with librdkafka; no broker is asked.

    Parameters
    ----------
    monitors
        They are those of a monitor: its clients accept fewer.

    Raises
    ------
    UserError
        It does not know a property, or does not accept its value.
    """
    properties = loaded.values.kafka.properties
    if not properties:
        return
    from beatwire.kafka.accepted import check_monitor, check_properties

    try:
        check_properties(properties)
        if monitors:
            check_monitor(properties, exactly_once=loaded.values.monitor.delivery == "exactly-once")
    except UserError as error:
        named = [name for name in sorted(properties, key=len, reverse=True) if name in str(error)]
        place = f"{_place(loaded.origin(f'{PROPERTIES}.{named[0]}'))}: " if named else ""
        unset = [name for name in ("sasl.username", "sasl.password") if name in str(error) and name not in properties]
        variables = " and ".join(f"{_PROPERTY}{name.replace('.', '_').upper()}" for name in unset)
        raise UserError(f"{place}{error}" + (f" (in the environment: {variables})" if unset else "")) from error


def nearest(word: str, known: list[str]) -> str:
    """Return " (nearest: ...)" with the known word that is most like another, or an empty text.

    >>> nearest("kafka.bootstap", ["kafka.bootstrap", "log.level"])
    ' (nearest: kafka.bootstrap)'
    """
    found = difflib.get_close_matches(word, known, 1, 0.6)
    return f" (nearest: {found[0]})" if found else ""


def _entries(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of tables by key; of Kafka's properties by ``kafka.properties.NAME``."""
    found: dict[str, Any] = {}
    for section, table in tables.items():
        if not isinstance(table, dict):
            found[section] = table
            continue
        for name, value in table.items():
            key = f"{section}.{name}"
            if key == PROPERTIES and isinstance(value, dict):
                found |= {f"{key}.{prop}": one for prop, one in flatten(value).items()}
            else:
                found[key] = value
    return found


def _check_variables(names: set[str]) -> None:
    """Refuse variables that look like ours and name no key; other programs' variables begin with our prefix too."""
    keys_of = {f"{PREFIX}{key.upper().replace('.', DELIMITER)}": key for key, *_ in keys()}
    flat = {name.replace(DELIMITER, "_"): name for name in keys_of}
    sections = {f"{PREFIX}{section.upper()}" for section in Configuration.model_fields}
    for name in sorted(names - set(keys_of) - sections):
        if name in flat or DELIMITER in name.removeprefix(PREFIX):
            near = nearest(flat.get(name, name), list(keys_of))
            raise UserError(f"environment: expected a variable of a known key; got {name}{near}")


def _check_key(key: str, value: Any, origin: str) -> None:
    """Check that a key is known, and that a property may be set and is a text."""
    name = key.removeprefix(f"{PROPERTIES}.")
    if name != key:
        try:
            check_property(name)
        except UserError as error:
            raise UserError(f"{_place(origin)}: {PROPERTIES}: {error}") from error
        if not isinstance(value, str):
            shown = MASKED if is_secret(name) else without_secrets(repr(value))
            raise UserError(f"{_place(origin)}: {key}: expected a text, a number or true or false; got {shown}")
        return
    known = [one for one, *_ in keys()]
    if key in Configuration.model_fields:
        raise UserError(f"{_place(origin)}: expected a table [{key}]; got {key} = {without_secrets(repr(value))}")
    if key not in known:
        raise UserError(f"{_place(origin)}: expected a known key; got {key!r}{nearest(key, known)}")


def _validated(found: Values) -> Configuration:
    """Return the configuration of merged values."""
    tables: dict[str, dict[str, Any]] = {}
    for key, (value, _) in found.items():
        section, _, name = key.partition(".")
        if key.startswith(f"{PROPERTIES}."):
            tables.setdefault("kafka", {}).setdefault("properties", {})[key.removeprefix(f"{PROPERTIES}.")] = value
        else:
            tables.setdefault(section, {})[name] = value
    try:
        return Configuration(**tables)  # type: ignore[arg-type]
    except ValidationError as error:
        raise UserError(_text_of(error.errors()[0], found)) from None


def _check_order(loaded: Loaded) -> None:
    """Check the limits of which one is at most another."""
    for low, high in ASCENDING:
        (lower, below), (upper, above) = (
            (f"limits.{name}", getattr(loaded.values.limits, name)) for name in (low, high)
        )
        if below > above:
            key, bound, other, limit, got = (
                (lower, "most", upper, above, below)
                if loaded.origin(lower) != DEFAULT
                else (upper, "least", lower, below, above)
            )
            origin = _place(loaded.origin(other))
            raise UserError(
                f"{_place(loaded.origin(key))}: {key}: expected at {bound} {limit:g}, which is {other} ({origin}); "
                f"got {got:g}"
            )


def _text_of(error: ErrorDetails, found: Values) -> str:
    """Return one line for an error of a value: where, key, expected, got."""
    key = ".".join(str(part) for part in error["loc"][:2])
    origin = found[key][1] if key in found else key
    expected = re.sub(r"^((Input|String) should (be|have|match) |Value error, expected )", "", error["msg"])
    got = repr(error["input"])
    if key in SECRETS or (key in ADDRESSES and any(sign in got for sign in "@?#")):
        got = MASKED
    return f"{_place(origin)}: {key}: expected {expected}; got {without_secrets(got)}"


def _place(origin: str) -> str:
    """Return an origin without the key, which an error names anyway.

    >>> _place("beatwire.toml:log.level")
    'beatwire.toml'
    """
    return origin.partition(":")[0]
