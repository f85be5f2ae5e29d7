"""Choice of the regularisation from the data: each tuner takes a `TuningProblem`.

- ``implicit``: descends a held-out loss along its gradient in the precisions (Do, Foo & Ng 2007)
- ``majorize``: integrates the precisions out (Foo, Do & Ng 2009), and may calibrate them by held-out loss;
  ``DirectTuner`` there minimises the same objective at once
- ``grid``: one precision for all, by trial
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
