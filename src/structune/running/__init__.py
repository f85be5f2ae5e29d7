"""Execution of fits and predictions: threads, Dask clusters, time limits, checkpoints and memory.

- ``executors``: threads, and ``Run``, the execution settings of a fit; ``blas``: threads of linear algebra;
  ``cores``: threads for one piece of work
- ``dask_executor``: execution on a Dask cluster
- ``memory``: available memory, batches of items, and work on a stream of items
- ``monitor``: Ctrl-C, time limits, history; ``progress``: progress bars, progress within a long example
- ``checkpoints``: saved state, to continue a fit that was interrupted
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
