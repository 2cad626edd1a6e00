"""The settings of a monitor as a text: equal settings are equal, and others name their section."""

from dataclasses import replace
from pathlib import Path

import pytest
from beatwire.kafka.consuming.differing import differing
from beatwire.kafka.consuming.positions import Position
from beatwire.pipeline.settings import Settings
from beatwire.service.fingerprint import fingerprint

OWN = Settings()


def of(settings: Settings, delivery: str = "exactly-once", score_within_s: float = 30.0) -> str:
    return fingerprint(settings, delivery=delivery, score_within_s=score_within_s)


@pytest.mark.parametrize(
    ("changed", "section"),
    [
        (replace(OWN, alert=OWN.alert.with_limits({"asystole": 5.0})), "limits"),
        (replace(OWN, alert=replace(OWN.alert, sure=0.8)), "limits"),
        (replace(OWN, detector="trees"), "models"),
        (replace(OWN, with_classes=False), "models"),
        (replace(OWN, silence_s=50.0), "streams"),
        (replace(OWN, lifecycle=replace(OWN.lifecycle, shortest_s=2.0)), "alerts"),
        (replace(OWN, cloud_events="all"), "alerts"),
    ],
)
def test_other_settings_name_their_section(changed: Settings, section: str) -> None:
    assert differing(of(OWN), of(changed)) == {section}
    assert differing(of(changed), of(replace(changed))) == frozenset()


def test_the_guarantee_and_the_version_count_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    assert differing(of(OWN), of(OWN, "at-least-once")) == {"monitor"}
    assert differing(of(OWN), of(OWN, score_within_s=0.0)) == {"monitor"}
    ours = of(OWN)
    monkeypatch.setattr("beatwire.service.fingerprint.version", lambda _: "99.0")
    assert differing(ours, of(OWN)) == {"version"}


def test_files_count_by_what_they_hold(tmp_path: Path) -> None:
    one, same, other = (tmp_path / name for name in ("one", "same", "other"))
    one.write_text("a model")
    same.write_text("a model")
    other.write_text("another model")
    assert of(replace(OWN, model=one)) == of(replace(OWN, model=same))
    assert differing(of(replace(OWN, model=one)), of(replace(OWN, model=other))) == {"models"}


def test_a_commit_holds_them() -> None:
    at = Position(120, 7, settings=of(OWN))
    assert Position.from_commit(120, at.metadata) == at
