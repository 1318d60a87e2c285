"""TileLang: its language, read into the IR of kernels, and the passes that make threads of its tiles."""
