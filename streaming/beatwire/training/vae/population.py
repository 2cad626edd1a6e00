"""Where the normal beats of the training data lie in the plane of the latents: what the live page shows around a bed's.

In:  the network that ships, and the windows that it was trained on
Out: ``NAME.population.json``: the model's name, and the places of at most 2,000 beats, each subject's in proportion to
     its number of beats
"""

import json
from pathlib import Path

from beatwire.backends.network import Network
from beatwire.model.storage import population_beside
from beatwire.outputs import write_output
from beatwire.records import F32
from beatwire.training.vae.drift import latents

MOST_POINTS = 2_000


def write_population(out: Path, name: str, network: Network, windows: F32) -> None:
    """Write the population beside the model ``out``.

    Parameters
    ----------
    out, name
        ``NAME.safetensors``, and the name of the model.
    network
        Of that model.
    windows
        float32 [n, 256], its normal training windows in units of the usual size, by subject.
    """
    places = latents(network, windows) @ network.map
    chosen = places[:: -(-len(places) // MOST_POINTS)].astype(float).round(3)
    text = json.dumps({"model": name, "points": chosen.tolist()}) + "\n"
    write_output("--out", population_beside(out), text)
