from .blending import Blend as Blend
from .blending import average_models as average_models
from .blending import blend as blend
from .bootstrap import Difference as Difference
from .bootstrap import paired_difference as paired_difference
from .constraints import ValidationConstraints as ValidationConstraints
from .constraints import validation_constraints as validation_constraints
from .estimator import Encoded as Encoded
from .estimator import StructuredEstimator as StructuredEstimator
from .losses import LogLoss as LogLoss
from .losses import Loss as Loss
from .losses import SquaredLoss as SquaredLoss
from .margin_losses import (
    EquivalentMarginLoss as EquivalentMarginLoss,
)
from .margin_losses import (
    MarginLoss as MarginLoss,
)
from .margin_losses import (
    PerceptronLoss as PerceptronLoss,
)
from .margin_losses import (
    RampLoss as RampLoss,
)
from .penalties import GroupedL2 as GroupedL2
from .penalties import IntegratedL2 as IntegratedL2
from .risk import Risk as Risk
from .solvers.l2 import elastic_net_path as elastic_net_path
from .solvers.l2 import fit_l2 as fit_l2
from .solvers.solution import Solution as Solution
from .tuning.grid import GridTuner as GridTuner
from .tuning.implicit import ImplicitTuner as ImplicitTuner
from .tuning.majorize import CollapseWarning as CollapseWarning
from .tuning.majorize import DirectTuner as DirectTuner
from .tuning.majorize import MajorizeTuner as MajorizeTuner
from .tuning.problem import (
    TuningProblem as TuningProblem,
)
from .tuning.problem import (
    TuningResult as TuningResult,
)
from .tuning.problem import (
    make_tuner as make_tuner,
)
