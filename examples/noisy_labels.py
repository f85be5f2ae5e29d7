"""
Labels with mistakes: the ramp loss
===================================

Some labels of the training data are wrong. The log loss and the margin loss grow without bound where an
example is far on the other side, so wrong labels pull at the model. The ramp loss gives up on them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from structune import Classifier

X, y = load_digits(return_X_y=True)
X = X / 16.0
X, X_test, y, y_test = train_test_split(X, y, train_size=600, random_state=0, stratify=y)

# %%
# A share of the labels is shuffled. The log loss chooses its penalty; the others have a fixed one here, to
# be quick.

shares = [0.0, 0.2, 0.4]
accuracy = {"log": [], "margin": [], "ramp": []}
rng = np.random.default_rng(0)
for share in shares:
    noisy = y.copy()
    chosen = rng.random(y.size) < share
    noisy[chosen] = rng.permutation(y[chosen])
    for loss, found in accuracy.items():
        penalty = None if loss == "log" else 10.0
        model = Classifier(loss=loss, penalty=penalty).fit(X, noisy)
        found.append(model.score(X_test, y_test))

for loss, found in accuracy.items():
    plt.plot(shares, found, "o-", label=loss)
plt.xlabel("share of training labels shuffled")
plt.ylabel("accuracy on true labels")
plt.legend(title="loss")
plt.show()
