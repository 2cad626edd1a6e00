"""Alarms judged on the public references: bedside alarms, fibrillation, runs, AF, missed beats, noise.

:func:`alert_table` runs the records of one or several folders through the graph and returns one row for each figure,
with an interval by person. What a folder is follows from its content (``folders``), not from its name.
"""

from beatwire.evaluation.bedside.table import alert_table, alerts_as_text

__all__ = ["alert_table", "alerts_as_text"]
