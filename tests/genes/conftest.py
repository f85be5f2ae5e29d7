import pytest

import simulated_genes as simulated
from structune import GeneFinder


@pytest.fixture(scope="session")
def finder():
    """Of `simulated.genome(0)`; tests leave it as it is."""
    return GeneFinder(n_jobs=1, penalty=0.1).fit(simulated.genome(0))
