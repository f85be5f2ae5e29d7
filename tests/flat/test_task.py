"""Classes and numbers on the command line: tables with a header, and SVMlight files."""

import json

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_diabetes, load_iris

import structune
from commands import fail, run, succeed
from structune import Classifier, Regressor

QUIET = ["--quiet", "--jobs", "1"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Tables of irises with a column of text, and of diabetes; SVMlight files."""
    folder = tmp_path_factory.mktemp("flat")
    found = load_iris(as_frame=True)
    table = found.data.assign(
        colour=np.where(np.arange(150) % 3 == 0, "red", "blue"), name=[f"n{k}" for k in range(150)]
    ).assign(species=found.target_names[found.target])
    table = table.sample(frac=1, random_state=0)
    table[:100].to_csv(folder / "train.csv", index=False)
    table[100:].to_csv(folder / "test.tsv", index=False, sep="\t")
    load_diabetes(as_frame=True).frame.to_csv(folder / "numbers.csv.gz", index=False)
    (folder / "a.svm").write_text("1 1:0.5 2:1\n0 2:3\n1 1:1\n0 2:2 9:1\n" * 3)
    args = ["--target", "species", "--drop", "name", *QUIET]
    succeed("train", "classifier", folder / "train.csv", "-m", folder / "classes", *args)
    succeed("train", "regressor", folder / "numbers.csv.gz", "-m", folder / "numbers", "--target", "target")
    return folder


def test_classes_of_a_table(files):
    """Texts are features; columns are found by their names, whatever their order."""
    model, table = structune.load(files / "classes"), pandas.read_csv(files / "train.csv")
    X = table.drop(columns=["species", "name", "colour"])
    X = X.assign(**{f"colour={text}": (table["colour"] == text) * 1.0 for text in ("blue", "red")})
    expected = Classifier().fit(X, table["species"])
    assert np.allclose(model.coef_, expected.coef_)
    test = pandas.read_csv(files / "test.tsv", sep="\t")
    shuffled = files / "shuffled.csv"
    test[[*reversed(test.columns)]].drop(columns="species").to_csv(shuffled, index=False)
    heading, *rows = succeed("predict", files / "classes", shuffled).splitlines()
    assert heading == "row\tprediction\tprobability"
    found = json.loads(succeed("evaluate", "classifier", files / "classes", files / "test.tsv", "--json"))
    right = [row.split("\t")[1] for row in rows] == test["species"]
    assert found["accuracy"] == right.mean() > 0.9
    assert found["classes"]["setosa"]["examples"] == (test["species"] == "setosa").sum()


def test_numbers_of_a_table(files):
    frame = load_diabetes(as_frame=True).frame
    expected = Regressor().fit(frame.drop(columns="target"), frame["target"])
    rows = succeed("predict", files / "numbers", files / "numbers.csv.gz").splitlines()[1:]
    predicted = expected.predict(frame.drop(columns="target"))
    assert np.allclose([float(row.split("\t")[1]) for row in rows], predicted, rtol=1e-4)
    args = ["evaluate", "regressor", files / "numbers", files / "numbers.csv.gz", "--json"]
    score = expected.score(frame.drop(columns="target"), frame["target"])
    assert json.loads(succeed(*args))["R2"] == pytest.approx(score)


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_svmlight(files, tmp_path, kind):
    """Features that the model does not have are told."""
    succeed("train", kind, files / "a.svm", "-m", tmp_path / "m", *QUIET)
    assert structune.load(tmp_path / "m").n_features_in_ == 9
    result = run("predict", tmp_path / "m", "-", stdin="1 1:1 12:1\n0 2:3\n")
    assert "ignored 1 value of features that the model does not have" in result.stderr
    assert result.stdout == succeed("predict", tmp_path / "m", "-", stdin="1 1:1\n0 2:3\n")


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        ("a,b\n1,x\n2,y\n", [], "--target, the column to predict, is missing. Columns: a, b."),
        ("a,b\n1,x\n2,y\n", ["--target", "c"], "--target c: {path} has no such column. Columns: a, b."),
        ("a,b\n1,x\n2,y\n", ["--target", "b", "--drop", "a"], "there are no feature columns besides"),
        ("a,b\n1,x\n,y\n", ["--target", "b"], "{path}, row 2: column 'a' has no value (empty, NA"),
        ("a,b\n1,x\n2\n", ["--target", "b"], "{path}, row 2: column 'b' has no value (empty, NA"),
        ("a,b\n1,0.5\n2,1.5\n", ["--target", "b"], "numbers that are not whole: to predict numbers, use"),
        ("a,b\ninf,x\n2,y\n", ["--target", "b"], "{path}, row 1: 'inf' in column 'a' is not a finite"),
        ("a,a\n1,x\n2,y\n", ["--target", "b"], "several columns have the same name: a"),
        ("a;b\n1;x\n2;y\n", ["--target", "b"], "columns are separated by semicolons"),
        ("a,b\n1,2,x\n2,3,y\n", ["--target", "b"], "{path}: cannot be read as a table"),
        ('a,b\n"3,5",x\n"4,5",y\n', ["--target", "b"], "column 'a' has numbers with commas, such as '3,5'"),
        ("a,b\n", ["--target", "b"], "the table has no rows below the header"),
        (
            "a,b\n" + "".join(f"n{k},x\nm{k},y\n" for k in range(60)),
            ["--target", "b"],
            "column 'a' has 120 different texts; at most 100 can be features.",
        ),
    ],
)
def test_tables_that_are_refused(tmp_path, text, options, told):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert told.format(path=path) in fail("train", "classifier", path, "-m", tmp_path / "m", *options)
    assert not (tmp_path / "m").exists()


def test_what_does_not_go_together(files, tmp_path):
    to = ["-m", tmp_path / "m"]
    assert "cannot be mixed" in fail("train", "classifier", files / "a.svm", files / "train.csv", *to)
    told = fail("train", "classifier", files / "a.svm", "--target", "a", *to)
    assert "--target works only for tables with a header" in told
    told = fail("train", "regressor", files / "train.csv", "--target", "species", "--drop", "name", *to)
    assert "contains text: to predict classes, use structune train classifier" in told
    assert "trained on tables. Give a table" in fail("predict", files / "classes", files / "a.svm")
    told = fail("predict", files / "classes", files / "numbers.csv.gz")
    assert "there is no column 'sepal length (cm)'" in told
    assert "CSV" in fail("shard", "classifier", files / "train.csv", tmp_path / "s")
    Classifier(tuning=None).fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "bare")
    assert "does not say which columns" in fail("predict", tmp_path / "bare", files / "train.csv")


def test_what_is_told(files, tmp_path):
    table = pandas.read_csv(files / "train.csv").assign(wide=np.arange(100) * 1e6)
    table.to_csv(tmp_path / "wide.csv", index=False)
    args = ["--target", "species", "--drop", "name", "-m", tmp_path / "m", *QUIET]
    assert "'wide' varies " in run("train", "classifier", tmp_path / "wide.csv", *args).stderr
    table.assign(colour="green").to_csv(tmp_path / "green.csv", index=False)
    told = run("predict", files / "classes", tmp_path / "green.csv").stderr
    assert "column 'colour': all features are 0 for 100 values that training did not see: green" in told


def test_what_is_a_number_does_not_depend_on_the_file(tmp_path):
    """All files of a column decide; classes are texts, and whole numbers are written alike."""
    (tmp_path / "a.csv").write_text("code,x,y\n01,1,1\n02,2,1.0\n01,3,2\n02,4,2\n")
    (tmp_path / "b.csv").write_text("y,x,code\nunknown,5,1\nunknown,7, X \n")
    model = tmp_path / "m"
    both = tmp_path / "a.csv", tmp_path / "b.csv"
    succeed("train", "classifier", *both, "--target", "y", "-m", model, *QUIET)
    loaded = structune.load(model)
    assert loaded.classes_.tolist() == ["1", "2", "unknown"]
    assert loaded.feature_names_in_.tolist() == ["code=01", "code=02", "code=1", "code=X", "x"]
    result = json.loads(succeed("evaluate", "classifier", model, tmp_path / "a.csv", "--json"))
    assert result["classes"]["1"]["examples"] == 2
    assert np.isfinite(result["log_loss"])
    text = (tmp_path / "a.csv").read_text()
    assert succeed("predict", model, "-", stdin=text) == succeed("predict", model, tmp_path / "a.csv")


def test_the_share_that_is_held_out(files, tmp_path):
    args = ["--target", "species", "--drop", "name", "--method", "grid", "-m", tmp_path / "m", *QUIET]
    succeed("tune", "classifier", files / "train.csv", *args, "--cv", "0.3")
    assert structune.load(tmp_path / "m").cv == 0.3


def test_unknown_classes_are_told(files, tmp_path):
    text = (files / "test.tsv").read_text().replace("setosa", "laevigata")
    (tmp_path / "other.tsv").write_text(text)
    told = run("evaluate", "classifier", files / "classes", tmp_path / "other.tsv").stderr
    assert "does not know these classes, so the log loss is infinite: laevigata" in told
