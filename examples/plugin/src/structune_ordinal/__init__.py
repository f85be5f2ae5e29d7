"""Labels in an order, a kind of prediction for structune."""

from structune.kinds import Kind

KIND = Kind(
    word="ordinal",
    estimator="structune_ordinal.estimator:OrdinalClassifier",
    about="labels in an order, from CSV files",
    task="structune_ordinal.task:TASK",
    shard="structune_ordinal.structure:OrdinalShard",
)
