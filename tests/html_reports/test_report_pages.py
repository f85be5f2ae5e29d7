"""The pages of --report: of every command, and as a browser shows them."""

import gzip
import json
import re
import shutil
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

import simulated_genes
import simulated_orfs
from commands import fail, run, succeed
from gene_files import write
from structune.ranking.letor import LetorData, write_letor

QUIET = ["--quiet", "--jobs", "1"]
RNA = "".join(f">r{k}\n{'G' * k}GGGAAAACCC{'C' * k}\n{'(' * k}(((....))){')' * k}\n" for k in range(6))
OTHER_RNA = ">s0\nGGGAAAACCCGGGGAAAACCCC\n(((....)))((((....))))\n>s1\nGGGGAAAACCCC\n............\n"
SENTENCE = "the DT B-NP\n{} NN I-NP\nsees VB B-VP\n<b> NN B-NP\n\n"
NARROW, WIDE = 400, 1200


def queries(seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(40, 3)), 3)
    relevance = np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=40)), 0.0, 2.0)
    names = [str(k // 5) for k in range(40)]
    return LetorData(X, relevance, names, np.array([1, 2, 5]), [""] * 40)


def families(n, rng):
    for _ in range(n):
        row = rng.choice(list("ARNDCQEGHILKMFPSTWYV"), 24)
        other = np.where(rng.random(24) < 0.3, rng.choice(list("ARNDCQEGHILKMFPSTWYV"), 24), row)
        yield f">x\n{''.join(row)}---\n>y\n--{''.join(other)}-\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    (folder / "train.txt").write_text("".join(SENTENCE.format(word) for word in ("dog", "cat", "tree") * 4))
    (folder / "test.txt").write_text(SENTENCE.format("owl") + f"{'x' * 200} NN B-{'Y' * 200}\n\n")
    (folder / "train.dbn").write_text(RNA)
    (folder / "test.dbn").write_text(OTHER_RNA)
    (folder / "rna.fa").write_text("".join(re.findall(r"[>A-Z].*\n", OTHER_RNA)))
    rng = np.random.default_rng(0)
    for name, n in (("train.csv", 60), ("new.csv", 55)):
        X = np.round(rng.normal(size=(n, 2)), 3)
        kinds = np.array(["low", "<mid>", "high"])[np.digitize(X[:, 0] + rng.normal(size=n), [-0.5, 0.5])]
        lines = [f"{a},{b},{kind},{2 * a - b:.3f}" for (a, b), kind in zip(X, kinds, strict=True)]
        (folder / name).write_text("\n".join(["a,b,kind,size", *lines, ""]))
    write_letor(folder / "train.letor", queries(0))
    write_letor(folder / "test.letor", queries(1))
    for k, text in enumerate(families(6, np.random.default_rng(0))):
        (folder / f"{'test' if k == 5 else f'train{k}'}.afa").write_text(text)
    pairs = [text.replace("-", "") for text in families(3, np.random.default_rng(1))]
    (folder / "pair.fa").write_text(pairs[0])
    (folder / "family.fa").write_text("".join(pairs[1:]))
    write(folder, "train", simulated_genes.genome(0, n_contigs=2))
    first, *others = simulated_genes.genome(1, n_contigs=3)  # a gene is not annotated: an error, to be drawn
    write(folder, "test", [replace(first, transcripts=first.transcripts[1:]), *others])
    for name, seed in (("a", 0), ("b", 1)):
        write(folder, name, simulated_orfs.genome(seed, n_contigs=2))
    (folder / "tree.nwk").write_text("(a,b)root;")
    return folder


def commands(files):
    """Name and arguments of commands that write a page, in an order in which they can run."""

    def of(verb, kind, train, test, *method):
        model = ["-m", files / f"{kind}.structune", *QUIET]
        yield f"learn {kind}", [verb, kind, *train, *model, *method, "--test", *test]
        yield f"evaluate {kind}", ["evaluate", kind, files / f"{kind}.structune", *test]

    yield from of("tune", "tagging", [files / "train.txt"], [files / "test.txt"])
    yield from of("train", "rna", [files / "train.dbn"], [files / "test.dbn"], "--penalty", 1)
    rna, test = ["-m", files / "rna.structune", *QUIET], files / "rna.fa"
    yield "fold", ["fold", test, *rna, "-o", files / "a.dbn"]
    yield "fold nbest", ["fold", test, *rna, "--nbest", 3, "--format", "json", "-o", files / "a.json.gz"]
    yield from of("train", "ranking", [files / "train.letor"], [files / "test.letor"], "--penalty", 1)
    families = [files / f"train{k}.afa" for k in range(5)]
    both = [files / "family.fa", files / "pair.fa"]
    yield "align", ["align", *both, "--multiple", "--format", "json", *QUIET]
    yield "align pairs", ["align", both[0], "--pairs", *QUIET]
    yield from of("train", "alignment", families, [files / "test.afa"], "--penalty", 1)
    yield from of("tune", "genes", [files / "train.gb"], [files / "test.gb"], "--method", "majorize")
    yield "genes", ["genes", files / "test.fa", "-m", files / "genes.structune", *QUIET]
    trained = ["-m", files / "trained.structune", "--penalty", 1, *QUIET]
    yield "train tagging", ["train", files / "train.txt", *trained]
    bacteria = ["prokaryotic-genes", files / "a.gb", "-m", files / "b.structune", *QUIET]
    yield "tune prokaryotic-genes", ["tune", *bacteria, "--test", files / "b.gb", "--method", "majorize"]
    tree = ["prokaryotic-genes", files / "a.gb", files / "b.gb", "--tree", files / "tree.nwk"]
    yield "train prokaryotic-genes", ["train", *tree, "-m", files / "t.structune", *QUIET]
    tagger, new = files / "tagging.structune", files / "test.txt"
    yield "predict tagging", ["predict", tagger, new, new, "-o", files / "labelled.txt"]
    yield "predict nbest", ["predict", tagger, new, "--nbest", 3, "-o", files / "best.txt.gz"]
    made = ["--penalty", 1, *QUIET]
    for kind, train, new in (
        ("segments", ["train.txt"], "test.txt"),
        ("classifier", ["train.csv", "--target", "kind"], "new.csv"),
        ("regressor", ["train.csv", "--target", "size", "--drop", "kind"], "new.csv"),
    ):
        model = files / f"{kind}.structune"
        yield f"train {kind}", ["train", kind, files / train[0], *train[1:], "-m", model, *made]
        yield f"predict {kind}", ["predict", model, files / new]
    ranked = [files / "ranking.structune", files / "test.letor"]
    yield "predict ranking", ["predict", *ranked]
    yield "rank", ["rank", *ranked]


@pytest.fixture(scope="module")
def pages(files):
    found = {}
    for name, args in commands(files):
        path = files / f"{name.replace(' ', '-')}.html"
        result = run(*args, "--report", path)
        assert result.exit_code == 0, (name, result.stderr, result.exception)
        assert result.stderr == ""
        found[name] = path
    return found


def headings(path):
    return re.findall(r"<h2>(.*?)</h2>", path.read_text(encoding="utf-8"))


TRAINED = ["Training", "Course of training", "Regularization by group"]
LABELLED = ["Labels", "Sentences", "Segments", "Least sure tokens", "Results"]
HEADINGS = {  # those before the last, which tells how the page was made
    **{f"learn {kind}": TRAINED for kind in ("tagging", "rna", "ranking", "alignment", "genes")},
    "train tagging": TRAINED,
    "tune prokaryotic-genes": [*TRAINED, "Scores", "Errors"],
    "train prokaryotic-genes": ["Training", "Nodes of the tree"],
    "evaluate tagging": ["Scores", "Reliability", "Errors", "Sentences with errors"],
    "evaluate rna": ["Scores", "Sequences", "Structures"],
    "evaluate ranking": ["Scores", "Queries"],
    "evaluate alignment": ["Scores", "Pairs", "Alignments"],
    "evaluate genes": ["Scores", "Errors", "Tracks"],
    "fold": ["Sequences", "Structures", "Results"],
    "fold nbest": ["Sequences", "Structures", "Results"],
    "genes": ["Summary", "Tracks", "Genes", "Sequences", "Results"],
    "align": ["Families", "family", "pair", "Results"],
    "align pairs": ["Pairs", "Alignments", "Results"],
    **{f"predict {what}": LABELLED for what in ("tagging", "nbest", "segments")},
    "predict classifier": ["Classes", "Least sure rows", "Rows", "Results"],
    "predict regressor": ["Predictions", "Rows", "Results"],
    **{name: ["Best documents", "Queries", "Results"] for name in ("predict ranking", "rank")},
}


@pytest.mark.parametrize("name", HEADINGS)
def test_headings(pages, name):
    *found, last = headings(pages[name])
    assert (found[: len(TRAINED)] if name.startswith("learn ") else found) == HEADINGS[name]
    assert last == "How this page was made"
    if name.startswith("predict "):
        assert ".structune.</p>" in pages[name].read_text(encoding="utf-8")  # the model


def saved(path):
    """The file that a page offers, and its name."""
    found = re.search(r'download="(.*?)" href="data:.*?;base64,(.*?)"', path.read_text(encoding="utf-8"))
    return found[1], b64decode(found[2]).decode()


def test_reports_leave_predictions_as_they_are(pages, files):
    tagger, test = files / "tagging.structune", files / "test.txt"
    plain = succeed("predict", tagger, test, test)
    assert (files / "labelled.txt").read_text() == plain
    assert saved(pages["predict tagging"]) == ("labelled.txt", plain)
    best = succeed("predict", tagger, test, "--nbest", 3)
    assert saved(pages["predict nbest"]) == ("best.txt", best)
    for name, kind, new in (
        ("labelled.txt", "segments", "test.txt"),
        ("predictions.tsv", "classifier", "new.csv"),
        ("predictions.tsv", "regressor", "new.csv"),
        ("ranked.tsv", "ranking", "test.letor"),
    ):
        text = succeed("predict", files / f"{kind}.structune", files / new)
        assert saved(pages[f"predict {kind}"]) == (name, text)
        page = files / "again.html"
        assert succeed("predict", files / f"{kind}.structune", files / new, "--report", page) == text


def test_headlines_of_predictions(pages):
    def headline(name):
        return re.search(r'class="headline">(.*?)<', pages[name].read_text(encoding="utf-8"))[1]

    told = r"4 sentences, 10 tokens labeled, \d segments, mean probability of a label 0\.\d{3}"
    assert re.fullmatch(told, headline("predict tagging"))
    assert headline("predict classifier").startswith("55 rows classified, mean probability of the")
    assert headline("predict regressor").startswith("55 numbers predicted, mean ")
    assert headline("rank") == "8 queries, 40 documents ranked"


def test_models_without_probabilities(files, tmp_path):
    for kind, train, new, more in (
        ("tagging", "train.txt", "test.txt", ()),
        ("classifier", "train.csv", "new.csv", ("--target", "kind")),
    ):
        model, page = tmp_path / f"{kind}.structune", tmp_path / f"{kind}.html"
        learned = ["train", kind, files / train, *more, "--loss", "margin", "--penalty", 1, "-m", model]
        succeed(*learned, *QUIET)
        succeed("predict", model, files / new, "--report", page)
        assert not {"Least sure tokens", "Least sure rows"} & {*headings(page)}
        assert "probability" not in page.read_text(encoding="utf-8")


def test_segments_in_bioes(files, tmp_path):
    text = (files / "train.txt").read_text().replace("VB B-VP", "VB S-VP").replace("NN B-NP", "NN S-NP")
    (tmp_path / "train.txt").write_text(text.replace("I-NP", "E-NP"))
    model, page = tmp_path / "m.structune", tmp_path / "a.html"
    succeed("train", "segments", tmp_path / "train.txt", "--penalty", 1, "-m", model, *QUIET)
    succeed("predict", model, files / "test.txt", "--report", page)
    assert "S-VP 0." in page.read_text(encoding="utf-8")


def test_many_predictions_are_told_of_in_a_sentence(pages, files, tmp_path):
    page = tmp_path / "a.html"
    succeed("predict", files / "tagging.structune", *[files / "train.txt"] * 3, "--report", page)
    text = page.read_text(encoding="utf-8")
    assert "These are the first 20 sentences; 16 more are in the results." in text
    assert text.count('class="tokens"') == 20
    succeed("predict", files / "classifier.structune", *[files / "new.csv"] * 6, "--report", page)
    assert "The first 300 of 330 rows; all are in the results" in page.read_text(encoding="utf-8")


def test_a_page_of_what_comes_before_an_error(pages, files, tmp_path):
    page, wrong = tmp_path / "a.html", tmp_path / "wrong.csv"
    predict = ["predict", files / "classifier.structune"]
    wrong.write_text("nothing\n1\n")
    fail(*predict, files / "new.csv", wrong, "--report", page)
    assert "55 rows classified" in page.read_text()
    assert "; incomplete" in page.read_text()
    page.unlink()
    fail(*predict, wrong, "--report", page)
    assert "can be written as" in fail(*predict, files / "new.csv", "-o", tmp_path / "a.xz", "--report", page)
    assert not page.exists()


def test_a_page_that_cannot_be_written_hides_no_error(files, tmp_path, monkeypatch):
    def full(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("structune.cli.reports.write_sections_page", full)
    given = ">a\nGGGAAACCC\n>b\nACZ\n"
    told = run("fold", "--report", tmp_path / "a.html", "--jobs", 1, "-q", stdin=given).stderr
    assert "the report could not be written: the disk is full" in told
    assert "'Z'" in told.splitlines()[-1]


def test_pages_of_folded_sequences(pages, files, tmp_path):
    plain = succeed("fold", files / "rna.fa", "-m", files / "rna.structune", *QUIET)
    assert (files / "a.dbn").read_text() == plain
    assert "2 sequences folded" in pages["fold"].read_text()
    saved = re.search(r'download="a.json" href="data:[^,]*,([^"]*)"', pages["fold nbest"].read_text())[1]
    assert b64decode(saved) == gzip.decompress((files / "a.json.gz").read_bytes())
    # records before a bad one, and names that are markup; strands, no pairs, and no bases
    page, text = tmp_path / "a.html", ">\"><b>'&\nGGGG&CCCC\n>e\nAA\n>f\n\n>g\nACZ\n"
    result = run("fold", "--samples", 2, "--report", page, "--jobs", 1, "-q", stdin=text)
    assert (result.exit_code, "'Z'" in result.stderr) == (2, True), result.stderr
    text = page.read_text()
    assert "3 sequences folded, 6 structures sampled; incomplete" in text
    assert "<b>" not in text
    assert 'aria-label="Structure of &quot;&gt;&lt;b&gt;&#x27;&amp;, Sample 1"' in text


def test_pages_of_models_without_probabilities(files, tmp_path):
    model, page = tmp_path / "m.structune", tmp_path / "a.html"
    succeed("train", "rna", files / "train.dbn", "-m", model, "--loss", "margin", "--penalty", 1, *QUIET)
    succeed("fold", files / "rna.fa", "-m", model, *QUIET, "--report", page)
    assert "2 sequences folded" in page.read_text()
    assert "data-likely=" not in page.read_text()
    assert "m.structune" in fail("fold", files / "rna.fa", "-m", model, "--report", page, "--nbest", 2)
    assert "must end in .html" in fail("fold", files / "rna.fa", "--report", tmp_path / "a.txt")


def test_pages_tell_what_was_asked_for(pages, files):
    text = pages["learn genes"].read_text()
    assert "tune genes</title>" in text
    told = text.partition("Trained on ")[2]
    assert told.startswith(f"{files / 'train.gb'} with ")
    for line in ("method: majorize", f"- {files / 'test.gb'}"):
        assert f"\n{line}\n" in told
    assert "loss:" not in told


def test_pictures_are_whole(pages):
    for path in pages.values():
        for kind, data in re.findall(r'src="data:image/([a-z+]+);base64,([^"]*)"', path.read_text()):
            head = b64decode(data)[:12]
            assert head.startswith(b"<?xml" if kind == "svg+xml" else b"RIFF"), path


def test_json_and_a_page(pages, files, tmp_path):
    page = tmp_path / "a.html"
    out = succeed("evaluate", files / "tagging.structune", files / "test.txt", "--json", "--report", page)
    assert json.loads(out)["model"] == "tagging.structune"
    assert headings(page) == headings(pages["evaluate tagging"])


GFF3 = "##gff-version 3\nc\tx\tmRNA\t1\t900\t.\t+\t.\tID=t;Parent=\u65e5\u672c\n"


def test_names_that_the_font_lacks_are_told_in_one_line(tmp_path):
    for name, start in (("known", 100), ("found", 130)):
        coding = f"c\tx\tCDS\t{start}\t900\t.\t+\t0\tID=a;Parent=t\n"
        (tmp_path / f"{name}.gff3").write_text(GFF3 + coding, encoding="utf-8")
    result = run("evaluate", "genes", *tmp_path.glob("*.gff3"), "--report", tmp_path / "a.html")
    assert result.exit_code == 0
    told = result.stderr.splitlines()
    assert len(told) == 2, told
    assert all(line.startswith("structune: Glyph ") for line in told), told


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("found no Chromium")
    api = pytest.importorskip("playwright.sync_api")
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with (
        api.sync_playwright() as playwright,
        playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-quic", *quiet]
        ) as launched,
    ):
        yield launched


_OPEN = "document.querySelectorAll('details').forEach(fold => fold.open = true)"
_SMALL_TEXT = """() => [...document.querySelectorAll('body *')].filter(
    e => [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())
      && parseFloat(getComputedStyle(e).fontSize) < 12).map(e => e.outerHTML)"""


ALIKE = {"fold", "predict nbest", "predict segments", "rank", "train tagging"}  # of what others have, too


@pytest.mark.browser
def test_in_a_browser(pages, browser):
    for name in pages.keys() - ALIKE:
        path = pages[name]
        page, told, asked = browser.new_page(viewport={"width": WIDE, "height": 800}), [], []
        page.on("console", lambda message, told=told: told.append(message.text))
        page.on("pageerror", lambda error, told=told: told.append(str(error)))
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(path.as_uri())
        page.evaluate(_OPEN)
        assert told == [], name
        assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()], name
        for width in (WIDE, NARROW):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 0)"), name
        assert page.evaluate(_SMALL_TEXT) == [], name
        page.locator("nav a").last.click()
        assert re.search(r"#section-\d+$", page.url), name
        page.close()


@pytest.mark.browser
def test_pictures_and_bars_are_readable_on_a_narrow_screen(pages, browser):
    """Charts are drawn for about its width; what is wider can be scrolled."""
    page = browser.new_page(viewport={"width": NARROW, "height": 800})
    for name, path in pages.items():
        page.goto(path.as_uri())
        page.evaluate(_OPEN)
        shares = page.evaluate("[...document.images].map(i => i.width / i.getAttribute('width'))")
        least = 0.8 if name in ("learn tagging", "evaluate genes", "evaluate ranking") else 0.66
        assert all(share > least for share in shares), (name, shares)
    page.goto(pages["learn tagging"].as_uri())
    assert page.locator("td.bar").first.bounding_box()["x"] < NARROW - 80
    page.close()


@pytest.mark.browser
def test_drawings_of_rna_tell_partners(pages, browser):
    page, told = browser.new_page(viewport={"width": WIDE, "height": 800}), []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.goto(pages["fold nbest"].as_uri())
    widget = page.locator(".rna").first
    line, drawings = widget.locator(".told"), widget.locator(".drawing")
    assert "Point at a base" in line.inner_text()
    drawings.nth(0).locator("circle").nth(0).hover()
    assert re.match(r"G 1 (is unpaired|pairs with [CU] \d+)\. Most probable partners: ", line.inner_text())
    # the keyboard: the next base, and its partner; the line also tells of other structures
    drawings.nth(0).locator("svg").focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    assert line.inner_text().startswith("C 21 ")
    widget.locator("[data-choice]").nth(1).click()
    assert [drawings.nth(k).is_visible() for k in range(3)] == [False, True, False]
    partner = json.loads(drawings.nth(1).get_attribute("data-partners"))[20]
    expected = "C 21 is unpaired." if partner < 0 else f"C 21 pairs with G {partner + 1}."
    assert line.inner_text().startswith(expected)
    assert drawings.nth(1).locator("circle.on").count() == (1 if partner < 0 else 2)
    assert widget.locator("[aria-pressed=true]").all_inner_texts() == ["2"]
    # zoom, to what scrolls and can be dragged
    svg, pane = drawings.nth(1).locator("svg"), drawings.nth(1).locator(".scroll")
    before = svg.bounding_box()["width"]
    for _ in range(6):
        widget.get_by_label("Zoom in").click()
    assert svg.bounding_box()["width"] > 10 * before
    box, start = pane.bounding_box(), pane.evaluate("pane => pane.scrollLeft")
    assert start > 0
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.up()
    assert pane.evaluate("pane => pane.scrollLeft") == pytest.approx(start + 100, abs=1)
    for _ in range(6):
        widget.get_by_label("Zoom out").click()
    assert svg.bounding_box()["width"] == pytest.approx(before)
    page.emulate_media(media="print")
    assert not widget.locator("button").first.is_visible()
    assert svg.is_visible()
    assert told == []
    page.close()
