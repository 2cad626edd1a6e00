"""A CPU or a GPU holds the arrays between ring and beats, behind one protocol."""
