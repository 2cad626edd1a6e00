"""The stages: settings, state, step."""
