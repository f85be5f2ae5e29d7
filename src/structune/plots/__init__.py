"""Figures of training and tuning; they need matplotlib (``pip install structune[plots]``).

- ``learning``: the course of a fit and of tuning, precisions, methods, and priors
- ``figure``, ``dots``: what the plots of all kinds share
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
