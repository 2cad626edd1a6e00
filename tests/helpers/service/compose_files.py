"""The folder ``compose/`` as data: services, commands and expressions."""

import json
import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "compose"
FILES = [FOLDER / "compose.yaml", FOLDER / "compose.gpu.yaml", FOLDER / "compose.cluster.yaml"]
VARIABLE = re.compile(r"\$\{(\w+)(?:(:-|:\?)([^}]*))?\}")
METRIC = re.compile(r"\b(?:beatwire|process)_[a-z_]+\b")
LABELS = re.compile(r"\b(?:by|without|on|ignoring) *\(([^)]*)\)")


def read(path: Path) -> dict[str, Any]:
    found = yaml.safe_load(path.read_text())
    assert isinstance(found, dict), path
    return found


def services(path: Path) -> dict[str, dict[str, Any]]:
    """Return the services of a compose file by name, as written in it."""
    found: dict[str, dict[str, Any]] = read(path)["services"]
    return found


def merged(*paths: Path) -> dict[str, dict[str, Any]]:
    """Return the services of compose files, later ones over earlier ones: mappings are merged, the rest replaced."""
    result: dict[str, dict[str, Any]] = {}
    for path in paths:
        for name, service in services(path).items():
            result[name] = _over(result.get(name, {}), service)
    return result


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    both = dict(below)
    for key, value in above.items():
        is_nested = isinstance(value, dict) and isinstance(both.get(key), dict)
        both[key] = _over(both[key], value) if is_nested else value
    return both


def interpolated(text: str, given: dict[str, str]) -> str:
    """Return a text with its variables replaced as compose does it."""

    def value(found: re.Match[str]) -> str:
        name, _, default = found.groups()
        return given.get(name) or (default if found.group(2) == ":-" else "")

    return VARIABLE.sub(value, text)


def commands(path: Path) -> list[list[str]]:
    """Return the command lines of beatwire in a compose file, without variables and without ``beatwire``."""
    given = {"BEATWIRE_TOKEN": "a-token-of-24-characters"}
    ours = [s for s in services(path).values() if "beatwire" in s.get("image", "beatwire")]
    return [[interpolated(str(word), given) for word in s["command"]] for s in ours if "command" in s]


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "grafana" / "dashboards" / "beatwire.json").read_text())
    return found


def panels() -> list[dict[str, Any]]:
    """Return the panels of the dashboard that show something."""
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def expressions() -> list[str]:
    """Return the expressions of the dashboard, with a range that Prometheus accepts."""
    drawn = [target["expr"] for panel in panels() for target in panel["targets"]]
    marks = [mark["expr"] for mark in dashboard()["annotations"]["list"]]
    return [expression.replace("$__rate_interval", "1m") for expression in drawn + marks]


def rules() -> list[dict[str, Any]]:
    """Return the alert rules of Prometheus."""
    config = read(FOLDER / "prometheus" / "prometheus.yaml")
    files = [FOLDER / "prometheus" / name for name in config["rule_files"]]
    return [rule for file in files for group in read(file)["groups"] for rule in group["rules"]]
