"""Figures of training and tuning; they need matplotlib (``pip install structune[plots]``).

- ``learning``: progress of a fit and of tuning, penalties, and comparisons of methods and priors
- ``figure``, ``dots``: code that the plots of all model types share
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
