"""The bodies compiled for CUDA."""
