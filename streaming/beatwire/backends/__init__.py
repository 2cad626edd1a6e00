"""Where the arrays between ring and beats live: a CPU or a GPU, behind one protocol."""
