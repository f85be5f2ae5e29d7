"""
How precisions are tuned
========================

Two ways to choose a precision for each group of weights: by the gradient of a held-out loss (Do, Foo and
Ng, 2007), and by integrating the precisions out (Foo, Do and Ng, 2009). Both on scikit-learn's breast
tumours, whose 30 features are ten measures as a mean, a standard error and a worst value.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from structune import Classifier
from structune.plots import plot_penalties, plot_precisions_by_method, plot_tuning

data = load_breast_cancer()
kinds = ["error" if "error" in name else name.split()[0] for name in data.feature_names]
X, X_test, y, y_test = train_test_split(data.data, data.target, train_size=100, random_state=0)
scaler = StandardScaler().fit(X)
X, X_test = scaler.transform(X), scaler.transform(X_test)

# %%
# **By the gradient.** On the left the held-out loss at each step, on the right the precisions that were
# tried.

implicit = Classifier(groups=kinds, tuning="implicit").fit(X, y)
plot_tuning(implicit.history_, implicit.group_names_)

# %%
# **Integrated out.** The same picture: here the objective needs no held-out data.

majorize = Classifier(groups=kinds, tuning="majorize").fit(X, y)
plot_tuning(majorize.history_, majorize.group_names_)

# %%
# The learned precisions, as bars and side by side.

plot_penalties(majorize.penalty_, majorize.group_names_)
plot_precisions_by_method(
    majorize.group_names_, {"implicit": implicit.penalty_, "majorize": majorize.penalty_}
)

# %%
# **A grid**, for comparison: one precision for all, 21 values, each fitted on five folds.

grid = Classifier(tuning="grid").fit(X, y)
plot_tuning(grid.history_, grid.group_names_)

# %%
# What it cost, in passes over the data, and what came of it.

names = ["grid, one", "implicit, three", "majorize, three"]
models = [grid, implicit, majorize]
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 2.5), sharey=True)
left.barh(names, [model.passes_ for model in models])
left.set_xlabel("passes over the data")
right.barh(names, [np.mean(model.predict(X_test) != y_test) for model in models])
right.set_xlabel("test error")
fig.tight_layout()
plt.show()
