"""The model card of the network of doubtful peaks: description, intended use, training data, figures."""

from typing import Any

from beatwire.training.detector.card import NOISE
from beatwire.training.vae.card import PHYSIONET, SOURCES


def network_card(metrics: dict[str, Any], databases: list[str]) -> str:
    """Return the card in Markdown, from the metrics of the training run."""
    return "\n".join(
        [
            f"# {metrics['model']}",
            "",
            "A network of causal convolutions with integer weights. It judges peaks that the detector's trees are in",
            "doubt about, by the waveform of the 12.6 s before a peak and the 0.3 s after it, lead by lead. Its logits",
            "and those of the trees are combined.",
            "",
            "**Intended use:** research, teaching, and detecting heartbeats in noise and movement.",
            "**Not for:** diagnosis, treatment, or patient monitoring. It is not a medical device.",
            "",
            "## Training data",
            "",
            *(f"- {name}. {SOURCES.get(name, '')}".rstrip() for name in databases),
            f"- {NOISE}",
            f"- {PHYSIONET}",
            "",
            "The PhysioNet databases are under the Open Data Commons Attribution License 1.0 (ODC-By). Each record is",
            "changed at random: speed, polarity, recorded noise, simulated electrode motion, hum.",
            f"Seed {metrics['settings']['seed']}.",
            "",
            "## Figures",
            "",
            "Doubtful peaks of records that neither trees nor network were trained on, and how many are classified",
            "wrongly.",
            "",
            "| | leads | peaks | wrong by trees | wrong together |",
            "|---|---|---|---|---|",
            *(
                f"| {row['augmentation']} | {row['lead']} | {row['peaks']} | {row['wrong by trees']} "
                f"| {row['wrong together']} |"
                for row in metrics["doubtful peaks"]
            ),
            "",
        ]
    )
