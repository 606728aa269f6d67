"""Kernometer: measures operating-system kernels and explains the differences between them."""

__version__ = "0.1.0"
