"""The consumer group: ticks of samples, epochs, commits, replay."""
