"""The settings of the graph that a configuration means."""

from beatwire.configuration.effect import alert_settings_of, lifecycle_of
from beatwire.configuration.keys import Configuration
from beatwire.pipeline.settings import Settings


def settings_of(configuration: Configuration) -> Settings:
    """Return the settings of the graph."""
    models = configuration.models
    return Settings(
        model=models.scoring,
        scorer=models.scorer,
        detector=models.detector,
        trees=models.trees,
        network=models.network,
        cloud_events=configuration.monitor.cloud_events,
        alert=alert_settings_of(configuration),
        lifecycle=lifecycle_of(configuration),
        **configuration.streams.model_dump(),  # type: ignore[attr-defined]
    )
