"""The blocks of a documentation page, and what happens when they are run one after the other.

In a page of docs/ the following is run, in a folder of the page's own that is empty at first:

- a block ``python``; all of a page share their names;
- a block ``console``: lines that begin with ``$ `` are commands, lines after a ``\\`` go on;
- a block ``text`` with a ``:caption:`` is written to the file of that name;
- a block ``output`` is what the block before it prints. ``...`` stands for anything, and numbers with a
  decimal point may differ by a tenth.

A comment on the line before a block says where things are otherwise::

    % not run: needs ViennaRNA
    % exit code: 2
    % numbers vary

``python tests/docs/pages.py docs/tutorial.md`` runs a page and writes the outputs anew that have changed.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click
from click.testing import CliRunner

from structune import cli

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(
    r"(?:^% *(?P<note>[^\n]*)\n)?^(?P<fence>```+)(?:\{code-block\} *)?(?P<kind>python|console|output|text)\n"
    r"(?::caption: *(?P<file>\S+)\n\n?)?(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_NOTE = re.compile(r"not run: \S.*|exit code: (\d+)|numbers vary")
_EXPECTED = "expected 'not run: why', 'exit code: n' or 'numbers vary'"
_NUMBER = re.compile(r"(?<![\w.])[+-]?\d*\.\d+(?:e[+-]?\d+)?(?![\w.])")
_TOLERANCE = 0.1
_WIDTH = "88"
NO_SHELL = sys.platform == "win32", "pages have commands of a Unix shell"  # why tests skip


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    kind: str
    body: str
    line: int
    span: tuple[int, int]  # of the body, in the page
    note: str | None = None
    file: str | None = None

    @property
    def runs(self) -> bool:
        return not (self.note or "").startswith("not run")

    @property
    def exit_code(self) -> int:
        found = _NOTE.fullmatch(self.note or "")
        return int(found[1]) if found and found[1] else 0

    def shows(self, printed: str) -> bool:
        """Whether what was printed is this block of output."""
        return same(self.body, printed, math.inf if self.note == "numbers vary" else _TOLERANCE)


def pages() -> list[Path]:
    """The pages that are written by hand."""
    return sorted(path for path in DOCS.rglob("*.md") if "generated" not in path.parts)


def blocks(text: str) -> list[Block]:
    found = []
    for match in _BLOCK.finditer(text):
        note, line = match["note"], text.count("\n", 0, match.start("fence")) + 1
        if note is not None and not _NOTE.fullmatch(note):
            raise ValueError(f"line {line}: found the note {note!r}, {_EXPECTED}")
        found.append(Block(match["kind"], match["body"], line, match.span("body"), note, match["file"]))
    return found


def run(text: str) -> list[tuple[Block, str]]:
    """Run the blocks of a page in the current folder: those of output, with what was printed instead.

    Raises
    ------
    AssertionError
        A block of code, or a command, that failed.
    """
    names: dict[str, object] = {"__name__": "__main__"}
    printed, found = "", []
    for block in blocks(text):
        if not block.runs:
            printed = None
        elif block.kind == "output":
            if printed is not None:
                found.append((block, printed))
        elif block.kind == "text":
            if block.file:
                Path(block.file).write_text(block.body, encoding="utf-8")
        elif block.kind == "python":
            printed = _python(block, names)
        else:
            printed = "".join(_command(block, line) for line in commands(block.body))
    return found


def commands(body: str) -> list[str]:
    joined = body.replace("\\\n", " ")
    wrong = [line for line in joined.splitlines() if line and not line.startswith("$ ")]
    assert not wrong, f"found {wrong[0]!r}, expected a command after '$ '; output is a block of its own"
    return [line.removeprefix("$ ") for line in joined.splitlines() if line]


def _python(block: Block, names: dict[str, object]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            exec(compile("\n" * block.line + block.body, "<page>", "exec"), names)
        except Exception as error:
            raise AssertionError(f"line {block.line}: {type(error).__name__}: {error}") from error
    return out.getvalue()


@click.command(add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def _structune(words: tuple[str, ...]) -> None:
    cli.run(list(words))


def _command(block: Block, command: str) -> str:
    """What a command prints to the terminal; `structune` alone runs in this process, which is faster."""
    words = shlex.split(command)
    if words[0] == "structune" and "|" not in words:
        target = words.pop() if words[-2] == ">" else None
        result = CliRunner(env={"COLUMNS": _WIDTH}).invoke(_structune, words[1 : -1 if target else None])
        code, printed = result.exit_code, result.output
        if target:
            Path(target).write_text(result.stdout, encoding="utf-8")
            printed = result.stderr
    else:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"PATH": path, "COLUMNS": _WIDTH},
        )
        code, printed = done.returncode, done.stdout
    assert code == block.exit_code, f"line {block.line}: {command}: exit code {code}\n{printed}"
    return printed


def same(expected: str, printed: str, tolerance: float = _TOLERANCE) -> bool:
    """Whether what was printed is what a page shows."""
    expected, pattern, values, end = expected.strip(), "", [], 0
    for number in _NUMBER.finditer(expected):
        pattern += f"{_literally(expected[end : number.start()])}({_NUMBER.pattern})"
        values.append(float(number[0]))
        end = number.end()
    found = re.fullmatch(pattern + _literally(expected[end:]), printed.strip(), re.DOTALL)
    return found is not None and all(
        abs(float(a) - b) <= tolerance * max(abs(b), 0.1) for a, b in zip(found.groups(), values, strict=True)
    )


def _literally(text: str) -> str:
    """A pattern for text: any white space for white space, and anything for ``...``."""
    parts = (r"\s+".join(re.escape(word) for word in re.split(r"\s+", part)) for part in text.split("..."))
    return ".*?".join(parts)


def main(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        outputs = run(text)
    for block, printed in reversed(outputs):
        abridged = "..." in block.body and block.shows(printed)
        if not (abridged or same(block.body, printed)):
            start, end = block.span
            lines = "".join(line.rstrip() + "\n" for line in printed.rstrip().splitlines())
            text = text[:start] + lines + text[end:]
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    for argument in sys.argv[1:]:
        main(Path(argument).resolve())
