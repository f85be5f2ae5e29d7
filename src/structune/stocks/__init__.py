"""Directions of stock prices (Chen et al. 2009): an application of `structune.tagging`.

- ``prices``: tables of prices; ``directions``: days as labelled sequences; ``data``: daily prices
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
