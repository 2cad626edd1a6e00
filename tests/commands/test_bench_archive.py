"""The benchmark of archives: what it writes, and that every recording is done."""

import pytest
from beatwire.bench import archive


@pytest.mark.slow
def test_two_processes_are_compared_with_one() -> None:
    log: list[str] = []
    (result,) = archive.measure(log.append, recordings=10, minutes=0.5)
    assert (result.name, result.against, result.target) == ("archive, two processes", "one process", ">= 1.8")
    assert [line.split(",")[0] for line in log if line.startswith("archive")] == [
        "archive: 1 processes", "archive: 2 processes",
    ]  # fmt: skip
