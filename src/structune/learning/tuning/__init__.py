"""Tuners that choose the regularization from the data; each solves a `TuningProblem`.

- ``implicit``: minimizes a held-out loss along its gradient in the precisions (Do, Foo & Ng 2007)
- ``majorize``: integrates the precisions out (Foo, Do & Ng 2009), and can calibrate them by held-out loss;
  its ``DirectTuner`` minimizes the objective of ``count="all"`` in one run
- ``grid``: tries values that all groups share
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
