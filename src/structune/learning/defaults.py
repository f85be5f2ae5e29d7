"""Numbers that estimators, solvers and tuners agree on."""

TOLERANCE = 1e-4  # of a fit, relative to where it starts: at w = 0
