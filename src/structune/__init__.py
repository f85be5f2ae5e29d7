"""Structured predictors that can tune their regularization.

A room for each kind of prediction: `structune.tagging`, `structune.rna`, `structune.alignment`,
`structune.genes`, `structune.ranking`, `structune.flat`, and `structune.trees` for related tasks. Below them
lies what all stand on: `structune.learning`, `structune.running`, `structune.files`, `structune.structure`,
`structune.kernels`. Above them `structune.plots`, `structune.html_reports`, `structune.cli`. What there is to
predict is listed in `structune.kinds`.

Public names load when first used, so that ``import structune`` stays fast.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
