"""Kernometer's rows against other suites' figures for the same operation: the table of docs/agreement.md."""
