"""Scorers for scikit-learn's parameter searches, with the names of sklearn-crfsuite."""

from sklearn.metrics import make_scorer

from structune.compat.metrics import flat_accuracy_score, sequence_accuracy_score

flat_accuracy = make_scorer(flat_accuracy_score)
sequence_accuracy = make_scorer(sequence_accuracy_score)
