from .figure import check_path as check_path
from .learning import plot_learning_curve as plot_learning_curve
from .learning import plot_penalties as plot_penalties
from .learning import plot_precision_course as plot_precision_course
from .learning import plot_precisions_by_method as plot_precisions_by_method
from .learning import plot_sensitivity as plot_sensitivity
from .learning import plot_tuning as plot_tuning
