"""Text tables: delimiter, head, layout, and the recording that they hold."""
