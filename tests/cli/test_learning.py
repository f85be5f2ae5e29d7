"""What all kinds that learn check before they read anything."""

import os

import pytest

from commands import fail

READ = {
    "tagging": [["{read}"], ["x", "--test", "{read}"]],
    "alignment": [["{read}"], ["x", "--test", "{read}"]],
    "genes": [["{read}"], ["x", "--sequences", "{read}"], ["x", "--test-sequences", "{read}"]],
    "prokaryotic-genes": [["{read}"], ["a={read}", "--tree", "x"], ["x", "--tree", "{read}"]],
}


@pytest.mark.parametrize(("kind", "given"), [(kind, given) for kind in READ for given in READ[kind]])
def test_what_is_read_is_not_written_over(tmp_path, kind, given):
    path, link = tmp_path / "data.html", tmp_path / "link"
    path.write_text("data")
    link.symlink_to(path)
    args = [word.format(read=path) for word in given]
    for written in (["--model", link], ["--model", tmp_path / "m", "--report", path]):
        assert "expected another file than the one that is read" in fail("train", kind, *args, *written)
    assert path.read_text() == "data"


@pytest.mark.parametrize("kind", [kind for kind in READ if kind not in ("genes", "prokaryotic-genes")])
def test_files_of_folders_that_are_read_are_not_written_over(tmp_path, kind):
    path = tmp_path / "folder" / "shard-00000.bin"
    path.parent.mkdir()
    path.write_text("data")
    for args in ([path.parent], ["x", "--test", path.parent]):
        assert "expected another file than the one that is read" in fail("tune", kind, *args, "--model", path)
    assert path.read_text() == "data"


def test_plots_are_not_written_over_models(tmp_path):
    args = ["tune", "x", "--model", tmp_path / "m.png", "--plot"]
    for plot in (tmp_path / "m.png", os.path.relpath(tmp_path / "m.png")):
        assert "m.png: found it twice among what is written, expected another file" in fail(*args, plot)
