from .grid import GridTuner as GridTuner
from .implicit import ImplicitTuner as ImplicitTuner
from .majorize import CollapseWarning as CollapseWarning
from .majorize import DirectTuner as DirectTuner
from .majorize import MajorizeTuner as MajorizeTuner
from .problem import TuningProblem as TuningProblem
from .problem import TuningResult as TuningResult
from .problem import make_tuner as make_tuner
