"""A page of --report as a picture: RNAs of S151Rfam, folded by a model tuned on others of them.

    python benchmarks/report_picture.py     a minute or two; needs a Chromium

The page itself is written to a temporary folder.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from common import asked_to_be_quick, folder_for
from structune.rna import RNARecord, load_rna, write_rna

NAME = "report"
WIDTH, HEIGHT = 1150, 800
SHORTER = """
#training, #scores, #options, details:not([open]), header p { display: none }
#sequences tr:nth-child(n + 6) { display: none }
"""


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    data = load_rna("s151rfam")
    records = [RNARecord(*each) for each in zip(data.names, data.sequences, data.structures, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        write_rna(Path(folder, "train.dbn"), records[: 10 if quick else 76])
        write_rna(Path(folder, "test.dbn"), records[-10 if quick else -75 :])
        command = (
            "tune rna train.dbn --model rna.structune --method majorize --test test.dbn --report report.html"
        )
        structune = Path(sys.executable).with_name("structune")
        subprocess.run([structune, *command.split(), "--quiet"], cwd=folder, check=True)
        photograph(Path(folder, "report.html"), folder_for(NAME, quick) / f"{NAME}.png")


def photograph(page_file: Path, target: Path) -> None:
    """The page as a browser shows it, without long lists and with one of its structures."""
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(page_file.as_uri())
        folds = page.locator("details")
        folds.first.locator("summary").click()
        folds.last.locator("summary").click()
        page.add_style_tag(content=SHORTER)
        page.screenshot(path=target, full_page=True)
        browser.close()


if __name__ == "__main__":
    main()
