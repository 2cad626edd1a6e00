"""Accuracy of beats, scores and alarms on annotated records.

:func:`evaluate` takes a *detect* callable (:class:`Detect`), so that the streamed graph, a rival package and a
detector written in a test are measured by the same code.
"""

from beatwire.evaluation.beats.detection import Alarm, Cuts, Detect, Detected
from beatwire.evaluation.bedside import alert_table, alerts_as_text
from beatwire.evaluation.evaluate import evaluate
from beatwire.evaluation.figures import as_json
from beatwire.evaluation.html import as_html
from beatwire.evaluation.report import full_report
from beatwire.evaluation.result import Evaluation
from beatwire.evaluation.text import as_text, failures

__all__ = [
    "Alarm",
    "Cuts",
    "Detect",
    "Detected",
    "Evaluation",
    "alert_table",
    "alerts_as_text",
    "as_html",
    "as_json",
    "as_text",
    "evaluate",
    "failures",
    "full_report",
]
