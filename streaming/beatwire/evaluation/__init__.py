"""How good beats and scores are: EC57 matching, anomaly scoring, noise, rivals, reports.

The engine (:mod:`beatwire.evaluation.evaluate`) takes a *detect* callable, so that the streamed
pipeline, a rival package and a test's hand-made detector are measured by the same ruler.
"""

from beatwire.evaluation.detection import Alarm, Cuts, Detect, Detected
from beatwire.evaluation.evaluate import Evaluation, evaluate
from beatwire.evaluation.ladder import full_report
from beatwire.evaluation.page import as_html, as_text
from beatwire.evaluation.report import as_json

__all__ = [
    "Alarm",
    "Cuts",
    "Detect",
    "Detected",
    "Evaluation",
    "as_html",
    "as_json",
    "as_text",
    "evaluate",
    "full_report",
]
