"""Compile the bodies of ``kernels`` to machine code for the CPU and for CUDA."""
