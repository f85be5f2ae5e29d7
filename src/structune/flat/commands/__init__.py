"""The commands of classifiers and regressors."""
