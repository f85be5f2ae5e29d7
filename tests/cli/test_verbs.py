"""What the verbs do for all kinds, whatever their nouns are."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import click
import pytest

from commands import fail, succeed
from structune.cli import verbs
from structune.cli.fields import GroupedNumbers, Number
from structune.kinds import kinds
from structune.learning import ValidationConstraints

TASKS = {kind.word: kind.make_task() for kind in kinds().values() if kind.task}
COMMANDS = [
    (verb, kind.word)
    for kind in kinds().values()
    for verb in (*verbs.VERBS, *(kind.own if kind.task else ()))
    if kind.has(verb)
]
# options that take the file of what is written, or of settings
WRITTEN = {"--model", "--output", "--report", "--plot", "--dot-plot", "--proteins", "--nucleotides"}
WRITTEN |= {"--config"}
LEARNING = [word for word, task in TASKS.items() if task.has("train")]


def command_of(verb, word):
    return verbs.command_of(verb, kinds()[word])


def words_of(verb, word):
    return [verb, word] if verb in verbs.VERBS else [verb]


def options_of(verb, word):
    return {each.opts[0]: each for each in command_of(verb, word).params if isinstance(each, click.Option)}


def needed(command):
    """A word for each argument and option that there must be."""
    for each in command.params:
        if isinstance(each, click.Argument):
            yield from ["x"] * each.required
        elif each.required:
            yield from [each.opts[0], "new"]


def given(option, value=None):
    """A command line's words for an option."""
    name = option.opts[0]
    if option.is_flag:
        return [option.secondary_opts[0] if option.default else name]
    if value is None and isinstance(option.type, click.Choice):
        value = option.type.choices[-1]
    if value is None and isinstance(option.type, GroupedNumbers | Number | type(click.FLOAT)):
        value = 0.5
    if value is None and isinstance(option.type, type(click.INT)):
        value = 2
    return [name, str("x" if value is None else value)]


@pytest.fixture
def asked(monkeypatch):
    """What commands would do: the task, the values of its options, and the estimator if one is to learn."""
    found, make = [], verbs._command

    def work(task, values):
        command = click.get_current_context().command
        learns = any(each.opts[0] == "--executor" for each in command.params)
        found.append((task, values, verbs._estimator(task, {}) if learns else None))
        return 0

    monkeypatch.setattr(verbs, "_command", lambda *args: make(*args[:5], work, *args[6:]))
    return found


@pytest.mark.parametrize(("verb", "word"), COMMANDS)
def test_help(verb, word, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown, _, examples = succeed(*words_of(verb, word), "--help").partition("\nExamples:\n")
    assert shown.startswith(f"Usage: structune {' '.join(words_of(verb, word))} ")
    assert all(len(line) <= 80 for line in shown.splitlines())
    panels = re.findall(r"^([A-Z]\w+):$", shown, re.MULTILINE)
    assert panels == sorted(panels, key=verbs._PANELS.index)
    assert panels[-2:] == ["Output", "Help"] or verb == "shard"
    assert all(line.startswith(f"  structune {verb} ") for line in examples.splitlines())
    assert examples
    for option in options_of(verb, word).values():
        assert re.fullmatch(r"(?s)\S.*[.)]", option.help), option.opts


def test_nothing_heavy_is_imported_for_help():
    pages = [[], *([verb] for verb in verbs.VERBS), *(words_of(*command) for command in COMMANDS)]
    lines = [[*words, "--help"] for words in pages]
    script = f"""
import sys
from structune.cli import run
for line in {lines}:
    try: run(line)
    except SystemExit as end: assert not end.code, line
heavy = {{'numba', 'numpy', 'scipy', 'sklearn', 'seqeval', 'matplotlib', 'yaml'}}
print(heavy & set(sys.modules), file=sys.stderr)"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == "set()\n"


@pytest.mark.parametrize("word", TASKS)
def test_examples_are_command_lines(word, asked, monkeypatch, tmp_path):
    """Those of predict name a model: its kind is found in the file."""
    monkeypatch.chdir(tmp_path)
    for line in TASKS[word].examples:
        name, verb, *args = shlex.split(line.partition(">")[0].partition("|")[0])
        assert name == "structune"
        succeed(verb, *([word] if verb == "predict" else []), *args)
        assert asked.pop()[0] is TASKS[word]


@pytest.fixture
def wide(monkeypatch):
    """No line of help is broken."""
    monkeypatch.setenv("COLUMNS", "400")


def test_the_first_page_tells_of_every_kind_and_command(wide):
    shown = succeed("--help")
    for word in TASKS:
        assert f" {word} {kinds()[word].about} " in " ".join([*shown.split(), ""])
    order = [*verbs.VERBS, *(name for word in TASKS for name in kinds()[word].own), "warm"]
    places = [shown.index(f"\n  {name} ") for name in order]
    assert places == sorted(places)


@pytest.mark.parametrize("verb", verbs.VERBS)
def test_pages_of_verbs_tell_of_every_kind(verb, wide):
    shown = succeed(verb, "--help")
    words = [word for each, word in COMMANDS if each == verb]
    assert re.findall(r"^  ([\w-]+)  +[A-Z]", shown.partition("Commands:")[2], re.MULTILINE) == words
    for word in words:
        assert f"\n  {command_of(verb, word).examples[0]}\n" in shown


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("train rnaa x -m m", "No such model type 'rnaa'. Did you mean 'rna'? See structune train --help."),
        ("evaluate rankin x y", "No such model type 'rankin'. Did you mean 'ranking'?"),
        ("shard tree x y", "shard is not available for 'tree'. It is for "),
        ("fodl x", "No such command 'fodl'. Did you mean 'fold'?"),
    ],
)
def test_words_that_mean_nothing(line, told, wide):
    assert fail(*line.split()).startswith(f"structune: {told}")


def test_a_file_may_be_called_like_a_kind(wide, asked, monkeypatch, tmp_path):
    monkeypatch.setattr("structune.cli.app._DEFAULT", "ranking")
    monkeypatch.chdir(tmp_path)
    Path("rnaa").write_text("")
    succeed("train", "rnaa", "-m", "m")
    assert asked.pop()[0] is TASKS["ranking"]


@pytest.mark.parametrize(("verb", "word"), [each for each in COMMANDS if each[0] in ("train", "tune")])
def test_parameters_reach_the_estimator(verb, word, asked):
    task, options = TASKS[word], options_of(verb, word)
    of_verb = task.tuning if verb == "tune" else task.penalties
    by_name = {option.name: option for option in options.values()}
    for name in (*task.space, *task.parameters, *of_verb):
        option = by_name[name]
        rules = [rule for rule in rules_of(verb, word) if rule.option == option.opts[0] and rule.needs]
        others = [
            each for rule in rules if rule.needs[0] in options for each in given(options[rule.needs[0]])
        ]
        if verb == "tune" and name in ("cv", "random_state"):
            others += ["--method", "implicit" if "implicit" in task.methods else "grid"]
        succeed(verb, word, *needed(command_of(verb, word)), *given(option), *others)
        _, values, model = asked.pop()
        expected = values[name][0][1] if isinstance(by_name[name].type, GroupedNumbers) else values[name]
        assert getattr(model, name) == expected != by_name[name].default
    if "constraints" in task.parameters:
        options = ["--constraints", "validation", "--validation-sets", 2, "--gamma", 0.5]
        succeed(verb, word, *needed(command_of(verb, word)), *options)
        assert asked.pop()[2].constraints == ValidationConstraints(2, 0.5)


def rules_of(verb, word):
    own = TASKS[word].own.get(verb)
    rules = [rule for rule in TASKS[word].rules if verb != "shard" or rule.option != "--seed"]
    return (*rules, *(own.rules if own else ()), *(verbs._RULES if verb in ("train", "tune") else ()))


@pytest.mark.parametrize(("verb", "word"), COMMANDS)
def test_what_cannot_be_combined_is_refused(verb, word, asked):
    options, command = options_of(verb, word), command_of(verb, word)

    def has(option):
        name, _, value = option.partition(" ")
        return name in options and (not value or value in options[name].type.choices)

    def words(option):
        name, _, value = option.partition(" ")
        return given(options[name], value or None)

    def told(*some):
        return fail(*words_of(verb, word), *needed(command), *(each for one in some for each in words(one)))

    for rule in rules_of(verb, word):
        if not has(rule.option):
            continue
        end = f": {rule.because}.\n" if rule.because else ".\n"
        for other in rule.forbids:
            if has(other):
                expected = f"structune: {rule.option} cannot be combined with {other}{end}"
                assert told(rule.option, other) == expected
        needs = [other.partition(" ") for other in rule.needs if has(other)]
        by_default = any(value and value == options[name].default for name, _, value in needs)
        if needs and not by_default:
            assert told(rule.option).startswith(f"structune: {rule.option} needs ")
    assert not asked


@pytest.mark.parametrize(("verb", "word"), COMMANDS)
def test_errors_of_usage_are_one_line(verb, word, asked):
    words, command, options = words_of(verb, word), command_of(verb, word), options_of(verb, word)
    end = f". See structune {' '.join(words)} --help.\n"
    assert fail(*words, "--zzz") == f"structune: No such option '--zzz'{end}"
    must = [*needed(command)]
    if must:
        assert fail(*words, *must[:-1]).endswith(end)
    for option in options.values():
        if isinstance(option.type, click.Choice | click.IntRange | click.FloatRange):
            told = fail(*words, *must, option.opts[0], "-1")
            assert told.startswith(f"structune: Invalid value for '{option.opts[-1]}'")
            assert told.endswith(end)
    if "--jobs" in options:
        assert "--jobs 0: give a number of threads, or -1 for all " in fail(*words, *must, "--jobs", 0)
    assert not asked


@pytest.mark.parametrize("word", [word for word in LEARNING if TASKS[word].has_shards])
def test_what_shards_have_decided_is_refused(word, monkeypatch):
    monkeypatch.setattr("structune.files.shards.is_shard_folder", lambda path: path == "folder")
    task, options = TASKS[word], {option.name: option for option in options_of("train", word).values()}
    for name in (*task.space, *(each.name for each in fields(task.learning_options) if each.name in options)):
        told = fail("train", word, "folder", "-m", "new", *given(options[name]))
        flag = options[name].opts[0]
        if " needs " not in told:
            why = f"{flag} cannot change a folder of shards. Give it to structune shard."
            assert told == f"structune: folder: {why}\n"
    told = fail("train", word, "folder", "other", "-m", "new")
    assert "folder: a folder of shards cannot be combined with other files. Give it alone." in told


@pytest.mark.parametrize(("verb", "word"), [command for command in COMMANDS if command[0] != "shard"])
def test_what_is_read_is_not_written_over(verb, word, tmp_path):
    """By any option that names a file to write, whatever it is that is read."""
    (tmp_path / "folder").mkdir()
    inside, link = tmp_path / "folder" / "a.html", tmp_path / "link.fa"
    options, learns = options_of(verb, word), verb in ("train", "tune")
    written = [name for name in ("--model" if learns else "--output", "--report") if name in options]
    arguments = [each.name for each in command_of(verb, word).params if isinstance(each, click.Argument)]
    beside = {name for name, option in options.items() if isinstance(option.type, click.Path)} - WRITTEN
    beside |= {"--test"} if learns else {"--model"} & {*options}
    for place in [*arguments, *sorted(beside)]:
        for name in written:
            path = tmp_path / ("data.html" if name == "--report" else "data.fa")
            link.unlink(missing_ok=True)
            link.symlink_to(path)
            words = [*words_of(verb, word), *(str(path) if each == place else "x" for each in arguments)]
            words += [place, str(path)] if place.startswith("-") else []
            if "--model" in options and options["--model"].required and "--model" not in (name, place):
                words += ["--model", "new"]
            for target in (path, link):
                path.write_text("data")
                if name == "--report" and target == link:
                    continue
                assert "this file is also read; write to another file" in fail(*words, name, target)
                assert path.read_text() == "data"
    if learns:
        inside.write_text("data")
        for read in ([inside.parent], ["x", "--test", inside.parent]):
            told = fail(verb, word, *read, "--model", inside)
            assert "this file is also read; write to another file" in told
            assert inside.read_text() == "data"


def test_files_of_tasks_are_not_written_over(tmp_path):
    path = tmp_path / "data.html"
    path.write_text("data")
    for written in (["--model", path], ["--model", tmp_path / "m", "--report", path]):
        told = fail("train", "prokaryotic-genes", f"a={path}", "--tree", "x", *written)
        assert "this file is also read; write to another file" in told
    assert path.read_text() == "data"


def test_the_model_of_a_center_is_not_written_over(tmp_path):
    """An option that takes a file or a word is no path."""
    model = tmp_path / "m"
    model.write_text("data")
    told = fail("train", "rna", "x", "--center", model, "--model", model)
    assert "this file is also read; write to another file" in told
    assert model.read_text() == "data"


@pytest.mark.parametrize("word", LEARNING)
def test_what_cannot_be_written_is_told_before_the_work(word, tmp_path):
    words, text, page = ["train", word, "x", "--model"], tmp_path / "a.txt", tmp_path / "m.html"
    text.write_text("data")
    for path in ([tmp_path / "no" / "m"], [tmp_path / "m", "--report", tmp_path / "no" / "a.html"]):
        assert "cannot be written; give a file in a folder that exists" in fail(*words, *path)
    for command in ([*words, tmp_path / "m"], ["evaluate", word, "x", "y"]):
        assert "the name of a report must end in .html" in fail(*command, "--report", text)
    twice = "two outputs have this path; give each output its own file"
    assert twice in fail(*words, page, "--report", page)
    if TASKS[word].has("tune"):
        picture = tmp_path / "m.png"
        for plot in (picture, os.path.relpath(picture)):
            told = fail("tune", word, "x", "--model", picture, "--plot", plot)
            assert f"m.png: {twice}" in told
    assert [*tmp_path.iterdir()] == [text]
    assert text.read_text() == "data"


@pytest.fixture
def settings(tmp_path):
    def write(text):
        (tmp_path / "settings.yaml").write_text(text)
        return ["--config", tmp_path / "settings.yaml"]

    return write


def test_settings_come_from_a_file(asked, settings):
    words = settings("model: m.structune\nmax-seconds: 60\nquiet: true\nfeatures: extended\ntest: a.dbn\n")
    succeed("train", "rna", "x", *words)
    _, values, model = asked.pop()
    assert (values["model"], values["max_seconds"], values["quiet"]) == (Path("m.structune"), 60.0, True)
    assert (model.features, values["test"]) == ("extended", ("a.dbn",))
    succeed("train", "rna", "x", *words, "--max-seconds", 5, "--test", "b.dbn", "--test", "c.dbn")
    assert asked.pop()[1]["max_seconds"] == 5.0
    succeed("train", "rna", "x", *settings("model: m\ntest: [a, b]\n"))
    assert asked.pop()[1]["test"] == ("a", "b")
    for text, expected in (("0.3", 0.3), ("5", 5)):
        succeed("tune", "rna", "x", "-m", "m", *settings(f"cv: {text}"))
        values, model = asked.pop()[1:]
        assert values["cv"] == model.cv == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("penalty: 2", 2.0),
        ("penalty: [2, helix stacking=3]", {None: 2.0, "helix stacking": 3.0}),
        ("penalty:\n  helix stacking: 3\n  dangles: 0.5", {"helix stacking": 3.0, "dangles": 0.5}),
    ],
)
def test_penalties_come_from_a_file(asked, settings, text, expected):
    succeed("train", "rna", "x", "-m", "m", *settings(text))
    assert asked.pop()[2].penalty == expected
    succeed("train", "rna", "x", "-m", "m", *settings(text), "--penalty", 7)
    assert asked.pop()[2].penalty == 7.0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("max-second: 60", "tune rna has no option --max-second. Did you mean 'max-seconds'?"),
        ("config: other.yaml", "has no option --config."),
        ("- max-seconds", "settings.yaml: each line must be an option and its value, such as 'max-sec"),
        ("a: [1", "settings.yaml: not a YAML file ("),
        ("max-seconds: soon", "Invalid value for '--max-seconds'"),
        ("loss: [log, ramp]", "settings.yaml: loss takes one value, not a list."),
        ("cv: 2.5", "--cv 2.5: expected a share between 0 and 1, or a whole number >= 2"),
        ("method: direct\ncv: 3", "--cv cannot be combined with --method direct"),
    ],
)
def test_settings_that_are_refused(asked, settings, text, told):
    assert told in fail("tune", "rna", "x", "-m", "m", *settings(text))
    assert not asked


def test_settings_of_no_file(asked):
    assert "nowhere.yaml: No such file" in fail("train", "rna", "x", "-m", "m", "--config", "nowhere.yaml")
