"""CONTRAfold parameter files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structune.errors import DataError
from structune.rna.formats.contrafold import read_contrafold, write_contrafold

names = st.text("abcdefgh_0123456789ACGU", min_size=1)


@given(parameters=st.dictionaries(names, st.floats(allow_nan=False, allow_infinity=False)))
def test_what_is_written_comes_back(parameters, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "parameters"
    write_contrafold(path, parameters)
    assert read_contrafold(path) == parameters


def test_blank_lines_and_spaces(tmp_path):
    (tmp_path / "p").write_text("\n base_pair_AU   0.5\t\r\n\nmulti_base -1e-3")
    assert read_contrafold(tmp_path / "p") == {"base_pair_AU": 0.5, "multi_base": -1e-3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1\nb", "p:2: found 'b', expected a name and a finite number"),
        ("a nan", "p:1: .*finite number"),
        ("a 1 2", "p:1: .*finite number"),
        ("a 1\n\na 2", "p:3: found 'a' a second time"),
    ],
)
def test_what_is_refused(text, message, tmp_path):
    (tmp_path / "p").write_text(text)
    with pytest.raises(DataError, match=message):
        read_contrafold(tmp_path / "p")
