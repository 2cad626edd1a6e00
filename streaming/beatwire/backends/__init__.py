"""Backends: a CPU or a GPU holds the arrays between ring and beats and runs the kernels, behind one protocol."""
