"""Problems so small that their optima are known to rounding: dense Hessians and Newton steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import approx_fprime  # noqa: F401

from structune.datasets import hmm_attributes, hmm_groups, simulate_hmm
from structune.executors import ThreadExecutor
from structune.losses import LogLoss
from structune.risk import Risk
from structune.solvers.lbfgs import fit_l2
from structune.structures.base import Groups
from structune.structures.chain import Chain
from structune.structures.classes import Classes
