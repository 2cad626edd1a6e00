"""Cross-validation of the scoring model by subject, and of PCA with as many components for comparison.

In:  the subjects of a run
Out: the networks of the folds; for either kind of network the terms of every beat, computed by the network of the fold
     in which its subject is held out
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from beatwire.backends.network import Network
from beatwire.evaluation.records import subject_of
from beatwire.records import F32, F64, Terms
from beatwire.stages.detection.history import Memory, terms_of
from beatwire.stages.judging.drift import Reference, radius
from beatwire.training.folds import Folds
from beatwire.training.progress import Progress
from beatwire.training.settings import FOLDS
from beatwire.training.vae.dataset import Subject
from beatwire.training.vae.drift import latents, whitening
from beatwire.training.vae.figures import HeldOutSubject
from beatwire.training.vae.network_cache import NetworkCache, training_windows
from beatwire.training.vae.pca import pca
from beatwire.training.vae.subgroups import drift_share, inverted, noise_auroc, noise_windows


@dataclass(frozen=True, slots=True)
class FoldResults:
    """Results of one kind of network on all subjects, each while held out.

    subjects, inverted_lead  as recorded, and with the lead inverted
    noise                    of each fold, see ``subgroups.noise_auroc``
    """

    subjects: list[HeldOutSubject] = field(default_factory=list)
    inverted_lead: list[HeldOutSubject] = field(default_factory=list)
    noise: list[float] = field(default_factory=list)

    def add(self, network: Network, fold: int, units: tuple[F64, F64], held_out: Sequence[Subject], noise: F32) -> None:
        """Add the results of a network on the subjects of its fold; ``units`` are centre and whitener of the radius."""
        for results, subjects in ((self.subjects, held_out), (self.inverted_lead, [inverted(s) for s in held_out])):
            terms = [subject_terms(network, s) for s in subjects]
            results += [
                HeldOutSubject(s, fold, t, radius(*units, t.latent)) for s, t in zip(subjects, terms, strict=True)
            ]
        self.noise.append(noise_auroc(network, noise, self.subjects[-len(held_out) :]))

    def drift(self, reference: Reference) -> dict[str, float]:
        """Return the limit of drift, and the shares of minutes above it."""
        return {
            "limit": reference.limit,
            "as_recorded": drift_share(reference, self.subjects),
            "inverted_lead": drift_share(reference, self.inverted_lead),
        }


def cross_validate(
    subjects: Sequence[Subject], cache: NetworkCache, progress: Progress
) -> tuple[list[Network], FoldResults, FoldResults]:
    """Return the network of each fold, the results of the VAE, and those of PCA."""
    folds, noise = assign_folds(subjects), noise_windows()
    networks, vae, linear = list[Network](), FoldResults(), FoldResults()
    for fold in range(FOLDS):
        trained_on = [s for s, f in zip(subjects, folds, strict=True) if f != fold]
        held_out = [s for s, f in zip(subjects, folds, strict=True) if f == fold]
        step = f"fold {fold + 1} of {FOLDS}"
        networks.append(cache.network(f"fold{fold}", trained_on, share_of(progress, fold, step)))
        windows = training_windows(trained_on)[0]
        for results, network in ((vae, networks[-1]), (linear, pca(windows, cache.settings.variance))):
            results.add(network, fold, whitening(latents(network, windows)), held_out, noise)
    return networks, vae, linear


def assign_folds(subjects: Sequence[Subject]) -> list[int]:
    """Return the fold of each record, by :class:`Folds`."""
    folds = Folds()
    return [folds.of(s.database, subject_of(s.name, s.beats.rate_hz, s.samples)) for s in subjects]


def subject_terms(network: Network, subject: Subject) -> Terms:
    """Return the terms of a subject's beats as the stage computes them."""
    return terms_of(network, Memory(), subject.beats)


def share_of(progress: Progress, run: int, step: str) -> Callable[[float], None]:
    """Return the progress of one of the ``FOLDS + 1`` trainings as progress of the whole run."""
    return lambda share: progress((run + share) / (FOLDS + 1), step)
