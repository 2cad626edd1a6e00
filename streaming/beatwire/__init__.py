"""beatwire: a streaming ECG monitor."""
