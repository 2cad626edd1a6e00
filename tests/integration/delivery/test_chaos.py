"""``beatwire chaos``: workers and network are disturbed; nothing is lost, nothing is twice, everything is equal."""

import os

import pytest
from beatwire.bench.chaos.plan import Counts
from beatwire.bench.chaos.run import Settings, run_chaos

pytestmark = pytest.mark.kafka


@pytest.fixture(autouse=True)
def _broker(need_kafka: None) -> None:
    """Skip the tests where Kafka cannot be started."""


def test_a_killed_a_frozen_an_additional_worker_and_faults_of_the_network_change_nothing() -> None:
    counts = Counts(kills=1, freezes=1, scale_changes=1, network_faults=4)
    report = run_chaos(Settings(streams=8, speed=6.0, garbage=3.0, counts=counts, every_s=1.0, seed=3), print)
    assert report.equal, report.as_dict()
    assert sum(report.events.values()) == 7
    assert report.output["beats"].expected > 100
    letters = report.output["dead letters"].expected
    assert letters > 1000
    assert report.letters < letters, "expected some to be packed"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_bundles_of_gateways_survive_killed_and_frozen_workers() -> None:
    counts = Counts(kills=4, freezes=1, scale_changes=1, broker_restarts=1)
    settings = Settings(streams=24, speed=6.0, bundle=8, garbage=1.0, counts=counts, every_s=3.0, seed=5)
    report = run_chaos(settings, print)
    assert report.equal, report.as_dict()
    assert sum(report.events.values()) == 7
    assert report.output["beats"].expected > 1_000


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_thirty_disturbances_of_workers_and_broker_change_nothing(ecg_folder) -> None:
    records = [str(header.with_suffix("")) for header in sorted((ecg_folder / "mitdb").glob("2*.hea"))]
    counts = Counts(kills=12, freezes=6, scale_changes=8, broker_restarts=4)
    report = run_chaos(Settings(tuple(records[:5]), garbage=2.0, counts=counts, every_s=4.0), print)
    assert report.equal, report.as_dict()
    assert sum(report.events.values()) == 30
    assert report.output["beats"].expected > 5_000
    assert report.output["alerts"].expected > 20


FAULTS = (
    "dropped=0.002,duplicated=0.002,reordered=0.002,late=0.001,clock_jump=0.0005,lead_off=0.0005,malformed=0.001,"
    "no_value=0.0003,sessions=0.0005,rival=0.0005,stuck=0.0002,off_s=10"
)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_ward_with_faults_on_a_busy_machine_is_monitored_for_half_an_hour(ecg_folder) -> None:
    """For SOAK_MINUTES, where that is set."""
    records = [str(header.with_suffix("")) for header in sorted((ecg_folder / "mitdb").glob("*.hea"))]
    minutes = float(os.environ.get("SOAK_MINUTES", "30"))
    report = run_chaos(
        Settings(
            tuple(records[::5]), streams=150, speed=1.0, faults=FAULTS, events="soak", minutes=minutes, every_s=25.0
        ),
        print,
    )
    assert report.equal, report.as_dict()
    assert report.output["beats"].expected > 5_000 * minutes
