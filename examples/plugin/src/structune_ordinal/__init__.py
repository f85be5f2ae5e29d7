"""Labels in an order, a kind of prediction for structune."""

from structune.kinds import Kind

KIND = Kind(
    word="ordinal",
    estimator="structune_ordinal.estimator:OrdinalClassifier",
    about="labels in an order, from CSV files",
    commands="structune_ordinal.commands",
    own=("grade",),
    shard="structune_ordinal.structure:OrdinalShard",
)
