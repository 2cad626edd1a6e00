"""Training of the network that reads the waveform of doubtful peaks."""
