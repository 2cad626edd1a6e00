"""The stages that run once for each bank and pass: from ring to history."""
