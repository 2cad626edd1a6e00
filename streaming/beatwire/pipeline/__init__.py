"""The streamz graph and its settings."""
