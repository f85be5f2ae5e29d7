from .multitask import MultitaskEstimator as MultitaskEstimator
from .task_tree import TaskTree as TaskTree
