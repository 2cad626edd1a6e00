"""What the service shows of itself: metrics, health, logs."""
