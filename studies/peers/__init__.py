"""Kernometer's rows against other suites' figures for the same operation: tables.md, summed up in docs/agreement.md."""
