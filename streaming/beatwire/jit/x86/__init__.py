"""Vector instructions and prefetches that replace some bodies on x86-64 processors."""
