"""The pages of --report: of every command, and as a browser shows them."""

import re
import shutil
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

import simulated_genes
import simulated_orfs
from commands import run, succeed
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
    write_letor(folder / "train.letor", queries(0))
    write_letor(folder / "test.letor", queries(1))
    for k, text in enumerate(families(6, np.random.default_rng(0))):
        (folder / f"{'test' if k == 5 else f'train{k}'}.afa").write_text(text)
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
    yield from of("train", "ranking", [files / "train.letor"], [files / "test.letor"], "--penalty", 1)
    families = [files / f"train{k}.afa" for k in range(5)]
    yield from of("train", "alignment", families, [files / "test.afa"], "--penalty", 1)
    yield from of("tune", "genes", [files / "train.gb"], [files / "test.gb"], "--method", "majorize")
    trained = ["-m", files / "trained.structune", "--penalty", 1, *QUIET]
    yield "train tagging", ["train", files / "train.txt", *trained]
    bacteria = ["prokaryotic-genes", files / "a.gb", "-m", files / "b.structune", *QUIET]
    yield "tune prokaryotic-genes", ["tune", *bacteria, "--test", files / "b.gb", "--method", "majorize"]
    tree = ["prokaryotic-genes", files / "a.gb", files / "b.gb", "--tree", files / "tree.nwk"]
    yield "train prokaryotic-genes", ["train", *tree, "-m", files / "t.structune", *QUIET]


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
ERRORS = {
    "tagging": ["Errors", "Sentences with the most errors"],
    "rna": ["Sequences", "Structures"],
    "ranking": ["Queries"],
    "alignment": ["Pairs", "Alignments"],
    "genes": ["Errors", "Tracks"],
}


@pytest.mark.parametrize("kind", ERRORS)
def test_pages_of_all_kinds(pages, kind):
    errors = ["Scores", *ERRORS[kind], "How this page was made"]
    assert headings(pages["train tagging"]) == [*TRAINED, "How this page was made"]
    assert headings(pages[f"learn {kind}"])[:3] == TRAINED
    assert headings(pages[f"evaluate {kind}"]) == errors


def test_pages_of_prokaryotes(pages):
    assert headings(pages["tune prokaryotic-genes"])[:4] == [*TRAINED, "Scores"]
    assert headings(pages["train prokaryotic-genes"]) == [
        "Training",
        "Nodes of the tree",
        "How this page was made",
    ]


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
    assert out.startswith("{")
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


_SMALL_TEXT = """() => [...document.querySelectorAll('body *')].filter(
    e => [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())
      && parseFloat(getComputedStyle(e).fontSize) < 12).map(e => e.outerHTML)"""


@pytest.mark.browser
def test_in_a_browser(pages, browser):
    for name, path in pages.items():
        page, told, asked = browser.new_page(viewport={"width": WIDE, "height": 800}), [], []
        page.on("console", lambda message, told=told: told.append(message.text))
        page.on("pageerror", lambda error, told=told: told.append(str(error)))
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(path.as_uri())
        for fold in page.locator("details:not([open]) > summary").all():
            fold.click()
        assert not page.locator("details:not([open])").count(), name
        assert told == [], name
        assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()], name
        for width in (WIDE, NARROW):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 0)"), name
        assert page.evaluate(_SMALL_TEXT) == [], name
        page.locator("nav a").last.click()
        assert page.url.endswith("#how-this-page-was-made"), name
        page.close()


@pytest.mark.browser
def test_pictures_and_bars_are_readable_on_a_narrow_screen(pages, browser):
    """Charts are drawn for about its width; what is wider can be scrolled."""
    page = browser.new_page(viewport={"width": NARROW, "height": 800})
    for name, path in pages.items():
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
        shares = page.evaluate("[...document.images].map(i => i.width / i.getAttribute('width'))")
        least = 0.8 if name in ("learn tagging", "evaluate genes", "evaluate ranking") else 0.66
        assert all(share > least for share in shares), (name, shares)
    page.goto(pages["learn tagging"].as_uri())
    assert page.locator("td.bar").first.bounding_box()["x"] < NARROW - 80
    page.close()
