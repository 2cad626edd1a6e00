"""Where ECG samples come from: recordings and a synthetic ward, as live streams."""
