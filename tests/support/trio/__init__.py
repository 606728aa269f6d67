"""Trio: the kernel, its front end, and the rules that its sources keep."""
