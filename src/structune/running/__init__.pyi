from .checkpoints import Checkpoint as Checkpoint
from .dask_executor import DaskExecutor as DaskExecutor
from .executors import Executor as Executor
from .executors import Run as Run
from .executors import ThreadExecutor as ThreadExecutor
from .executors import make_executor as make_executor
