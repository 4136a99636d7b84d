"""Results of benchmarks: a mean of each test, or a short series.

`core` makes logs of tests; each other module knows the dialect of one or several programs: what
their lines, columns and elements hold, and in which unit.
"""
