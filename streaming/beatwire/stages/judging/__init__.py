"""The stages that judge the beats of a tick: class, drift, rhythm, alerts."""
