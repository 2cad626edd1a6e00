"""How the bodies of ``kernels`` become machine code."""
