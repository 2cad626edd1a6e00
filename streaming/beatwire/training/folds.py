"""The folds of a cross-validation: records in turn within each database, all records of a person in one fold."""

from collections import Counter

from beatwire.training.settings import FOLDS


class Folds:
    """Assigns folds to the records of a run, in their order.

    >>> folds = Folds()
    >>> [folds.of("mitdb", person) for person in ("200", "201", "201", "203")]
    [0, 1, 1, 3]
    """

    def __init__(self) -> None:
        self._of_person: dict[str, int] = {}
        self._records = Counter[str]()  # of each database

    def of(self, database: str, person: str) -> int:
        """Return the fold of the next record of a database."""
        number = self._records[database]
        self._records[database] += 1
        return self._of_person.setdefault(person, number % FOLDS)
