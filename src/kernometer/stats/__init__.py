"""The statistics: values in, values out. Nothing is read, and nothing is printed.

Data goes down this list. A file uses what those above it make, and imports none of its own line or below.

    model: the values
    warmup, core, counters, differences: what needs no other rule
    cost, levels, curves, printed, intervals: one run; the kinds of a row's iterations; rows as curves; printed figures
    flags, serial, variance: why a figure needs care; units that are alike; parts of a variance
    figures, verdict: a figure for each row of a result; from an interval and a test to a verdict
    quantiles: those of single iterations, by time, and what they still need
    history, floors: sessions and their spread; by path, how far layout moves a row
    sides, noise, changes: both sides of a comparison, row by row; a host's own noise; a row over time
    path: verdicts by path, from the sides' counts and the floors
    compare, alternate, gate: verdicts by time, from units or from blocks (by path: path's); what fails a gate
    imported, series: files of other suites; many systems against one, and each against the one before
"""
