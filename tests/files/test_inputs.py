"""Examples that are given in memory."""

import numpy as np
import pandas as pd
import pytest

from structune.errors import DataError
from structune.files.inputs import as_list

SEQUENCES = ["GGG", "CCC"]


@pytest.mark.parametrize(
    "given", [tuple(SEQUENCES), np.array(SEQUENCES), pd.Series(SEQUENCES), iter(SEQUENCES)]
)
def test_several(given):
    assert as_list(given, "sequences") == SEQUENCES


@pytest.mark.parametrize(
    "given",
    ["GGG", b"GGG", np.array("GGG"), np.float64(3), 3, None, {"a": "GGG"}, pd.DataFrame({"RNA": SEQUENCES})],
)
def test_names_of_columns_are_no_examples(given):
    with pytest.raises(DataError, match=f"give a list of sequences, not one {type(given).__name__}"):
        as_list(given, "sequences")
