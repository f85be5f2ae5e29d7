"""Structured prediction with automatic choice of the regularization.

One module for each type of model: `structune.tagging`, `structune.rna`, `structune.alignment`,
`structune.genes`, `structune.ranking` and `structune.flat`; `structune.trees` is for related tasks. All of
them use `structune.learning`, `structune.running`, `structune.files`, `structune.structure` and
`structune.kernels`. `structune.plots`, `structune.html_reports` and `structune.cli` show and run models.
`structune.kinds` lists the model types.

Public names load when first used, so that ``import structune`` stays fast.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
