"""Monitors of one group that have different settings: what a stream is judged by depends on who has its partition.

In: the settings that others commit, ``section:digest`` with commas between them. Out: lines in the log. State: in which
partitions they differ, and in which sections.
"""

import logging
from collections.abc import Collection, Mapping

_LOGGER = logging.getLogger("beatwire")


class Differing:
    """The partitions whose monitor has other settings.

    Parameters
    ----------
    group, topic
        For the log.
    settings
        Of this monitor; None: nothing is compared.
    """

    def __init__(self, group: str, topic: str, settings: str | None) -> None:
        self._group, self._topic, self._settings = group, topic, settings
        self._sections: dict[int, frozenset[str]] = {}

    def note(self, others: Mapping[int, str | None], own: Collection[int]) -> None:
        """Log what is new of the partitions that other monitors have just committed.

        Parameters
        ----------
        others
            partition -> the settings there; None: of another version, which does not say them.
        own
            Partitions of this monitor.
        """
        if self._settings is None:
            return
        before = self._sections
        self._sections = {p: sections for p, sections in before.items() if p not in own and p not in others}
        for partition, settings in others.items():
            if settings is not None and (sections := differing(self._settings, settings)):
                self._sections[partition] = sections
        new = {p: sections for p, sections in self._sections.items() if before.get(p) != sections}
        if new:
            partitions, names = sorted(new), sorted(frozenset().union(*new.values()))
            _LOGGER.warning(
                "expected the monitors of group %r to have the same settings; got others (%s) in partitions %s of %s: "
                "their streams are judged otherwise than those of this monitor",
                self._group, ", ".join(names), ", ".join(map(str, partitions)), self._topic,
                extra={"event": "other settings", "fields": {"partitions": partitions, "sections": names}},
            )  # fmt: skip
        elif before and not self._sections:
            _LOGGER.info(
                "the monitors of group %r have the same settings now", self._group, extra={"event": "other settings"}
            )


def differing(one: str, other: str) -> frozenset[str]:
    """Return the sections in which settings differ.

    >>> sorted(differing("limits:1a2b3c,models:0d9e8f", "limits:1a2b3c,models:777777,streams:000000"))
    ['models', 'streams']
    """
    return frozenset(pair.partition(":")[0] for pair in set(one.split(",")) ^ set(other.split(",")))
