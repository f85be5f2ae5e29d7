"""What all tests share; this file also lets them import `laws` and the problems beside it."""

from hypothesis import settings

settings.register_profile("structune", deadline=None)  # the first example may compile kernels
settings.load_profile("structune")
