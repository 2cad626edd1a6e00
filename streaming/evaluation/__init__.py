"""How good beats and scores are: EC57 matching, anomaly scoring, noise, rivals, reports.

The engine (:mod:`streaming.evaluation.evaluate`) takes a *detect* callable, so that the streamed
pipeline, a rival package and a test's hand-made detector are measured by the same ruler.
"""

from streaming.evaluation.detection import Alarm, Cuts, Detect, Detected
from streaming.evaluation.evaluate import Evaluation, evaluate
from streaming.evaluation.ladder import full_report
from streaming.evaluation.page import as_html, as_text
from streaming.evaluation.report import as_json

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
