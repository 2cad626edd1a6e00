"""A graph that takes everything the monitor may say to it and publishes nothing: what the graphs of tests inherit."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from beatwire.records import Acknowledgement, Expired, LimitChange, Outgoing, RawTick
from beatwire.records.feed import Watched
from beatwire.wire.dead_letters import Origin


class QuietGraph:
    """Has all of `beatwire.service.interfaces.Graph`: what a slow machine calls is there too."""

    model_name = "model-1"
    open_banks = None

    def reset(self) -> None: ...

    def adopt(
        self, alerts: list[dict[str, Any]], acks: Sequence[Acknowledgement], said_us: Mapping[str, int]
    ) -> None: ...

    def acknowledge(self, acks: Sequence[Acknowledgement]) -> None: ...

    def change_limits(self, changes: Sequence[LimitChange]) -> None: ...

    def count_partitions(self, counts: Sequence[int]) -> None: ...

    def repeat_alerts(self) -> int:
        return 0

    def report_expired(self, expired: Mapping[int, Expired]) -> None: ...

    def watch_feed(self, watched: Watched, newest_us: int) -> None: ...

    def rewind_tick(self, partition: int) -> int:
        return 0

    def emit(
        self, tick: RawTick, origin: Origin, ahead: Callable[[Sequence[Outgoing]], None] | None
    ) -> Sequence[Outgoing]:
        return []
