"""The tables of docs/benchmarks.md, made from results/*.json when the site is built.

python benchmarks/tables.py    # writes the handful of numbers of the README, between their marks
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from common import RESULTS

_DIFFERENCES = (
    ("implicit_grouped", "implicit_single"),
    ("majorize_grouped", "majorize_single"),
    ("implicit_grouped", "grid_warm"),
)
_TUNERS = {
    "fixed": "structune, penalty 1",
    "grid": "structune, one penalty by grid (13 values, warm)",
    "majorize": 'structune, `tuning="majorize"`',
    "implicit": 'structune, `tuning="implicit"`',
}
README = Path(__file__).parent.parent / "README.md"


def result(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text())


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def interval(row: dict[str, float], scale: float = 100.0, digits: int = 2) -> str:
    value, low, high = (f"{scale * row[key]:+.{digits}f}" for key in ("value", "low", "high"))
    text = f"{value} [{low}, {high}]"
    return text + (", no difference" if row["low"] <= 0 <= row["high"] else "")


def speed() -> str:
    data = result("conll2000_speed")
    runs, faster = data["runs"], data["times_faster"]

    def of(program: str, *keys: str) -> float:
        return median(sum(run[program][key] for key in keys) for run in runs)

    rows = [
        [name, f"{of('crfsuite', *keys):.{digits}f}", f"{of('structune', *keys):.{digits}f}", f"{ratio:.1f}"]
        for name, keys, digits, ratio in (
            ("features and encoding, s", ("features", "encode"), 2, faster["features_and_encoding"]),
            ("training to CRFsuite's objective after 100 iterations, s", ("train",), 1, faster["training"]),
            ("tagging, tokens/s", ("tokens_per_second",), 0, faster["tagging"]),
            (
                "tagging from words, tokens/s",
                ("tokens_per_second_with_features",),
                0,
                faster["tagging_with_features"],
            ),
            ("peak memory, MB", ("peak_mb",), 0, data["crfsuite_memory_over_structune"]),
        )
    ]
    threads = [run["structune"]["threads"] for run in runs]
    speedup, same = median(t["speedup"] for t in threads), all(t["bit_identical"] for t in threads)
    passes, difference = runs[0]["structune"]["passes"], data["objective_relative_difference"]
    notes = (
        f"CRFsuite takes 100 iterations, structune {passes} passes over the data to the same objective. "
        f"At CRFsuite's weights the two objectives differ by {difference:.0e} relative. "
        f"Two threads take a gradient {speedup:.2f} times as fast as one, with "
        f"{'the same bits' if same else 'different results'}."
    )
    header = ["CoNLL-2000, c2 = 1", "CRFsuite", "structune, 2 threads", "ratio"]
    return f"{table(header, rows)}\n\n{notes}"


def tagging_input() -> str:
    data = result("tagging_input")
    names = {
        "lists": "tagging from lists of strings, s",
        "dicts": "from dicts, with a number and a flag, s",
        "words": "from words, by templates, s",
        "lists, one sentence a call": "500 sentences one by one, from lists, s",
        "dicts, one sentence a call": "500 sentences one by one, from dicts, s",
    }
    rows = []
    for name, label in names.items():
        row = data["tagging"][name]
        low, high = row["quartiles"]
        ratio = f"{row['times_faster']:.2f} [{low:.2f}, {high:.2f}]"
        rows.append([label, f"{row['crfsuite']:.3f}", f"{row['structune']:.3f}", ratio])
    training = data["training"]
    for key, label, ratio, digits in (
        ("reading", "reading the training data from lists, s", "reading_times_faster", 2),
        ("seconds", "reading and training to CRFsuite's objective, s", "times_faster", 1),
        ("peak_mb", "peak memory, MB", "crfsuite_memory_over_structune", 0),
    ):
        peer, ours = (
            median(run[program][key] for run in training["runs"]) for program in ("crfsuite", "structune")
        )
        rows.append([label, f"{peer:.{digits}f}", f"{ours:.{digits}f}", f"{training[ratio]:.2f}"])
    same = min(data["tagging"][name]["same sentences"] for name in ("lists", "dicts"))
    header = ["CoNLL-2000", "CRFsuite", "structune", "ratio [quartiles]"]
    settings = data["settings"]
    notes = (
        f"Both give {100 * same:.2f} % of the sentences the same labels. "
        f"Turns of tagging: {settings['turns']}, runs of training: "
        f"{settings['trainings']}. Other work on the machine: {settings['machine_shared']}."
    )
    return f"{table(header, rows)}\n\n{notes}"


def tuned() -> str:
    data = result("conll2000_tuning")
    versus = "; ".join(
        f"`{name}` {interval(data['structune'][name]['minus_grid'])}" for name in ("majorize", "implicit")
    )
    return f"{_tuned(data)}\n\nMinus structune's own grid, points: {versus}."


def tuned_text() -> str:
    return _tuned(result("conll2000_text"))


def _tuned(data: dict[str, Any]) -> str:
    peer = data["crfsuite"]
    rows = [[f"CRFsuite, c2 = 2^{peer['log2_c2']} by held-out F1", f"{100 * peer['f1']:.2f}", "", "", ""]]
    for name, row in data["structune"].items():
        rows.append([
            _TUNERS[name],
            f"{100 * row['f1']:.2f}",
            interval(row["minus_crfsuite"]),
            f"{row['times_fixed_seconds']:.1f}",
            f"{row['times_fixed_passes']:.1f}",
        ])  # fmt: skip
    header = [
        "",
        "test F1, %",
        "difference to CRFsuite, points",
        "cost in untuned fits, by seconds",
        "by passes",
    ]
    return table(header, rows)


def ocr_letters() -> str:
    data = result("ocr_letters")
    names = {"crfsuite": "CRFsuite, c2 by held-out words", **_TUNERS}
    rows = []
    for kind, label in (("one fold trains", "1 of 10 folds"), ("nine folds train", "9 of 10 folds")):
        for name in ("crfsuite", "fixed", "majorize", "implicit"):
            row = data[kind][name]
            gain = "" if name == "crfsuite" else interval(row["minus_crfsuite"])
            rows.append(
                [f"{label}, {names[name]}", f"{100 * row['accuracy']:.2f}", gain, f"{row['seconds']:.0f}"]
            )
    return table(
        ["training data, program", "letter accuracy, %", "difference to CRFsuite, points", "seconds a fold"],
        rows,
    )


def orders() -> str:
    letters, chunks = result("orders_letters"), result("orders_chunks")
    rows = []
    for kind in ("known words", "unseen words"):
        found = letters[kind]
        seconds = [np.mean([row[f"order {order}"]["seconds"] for row in found["folds"]]) for order in (1, 2)]
        accuracies = [f"{100 * accuracy:.2f}" for accuracy in found["means"]]
        name = f"letter accuracy, {kind}"
        rows.append([name, *accuracies, interval(found["gain"]), f"{seconds[1] / seconds[0]:.0f}"])
    first, second = chunks["order 1"], chunks["order 2"]
    f1s = [f"{100 * row['f1']:.2f}" for row in (first, second)]
    ratio = second["seconds"] / first["seconds"]
    rows.append(["CoNLL-2000, segment F1", *f1s, interval(chunks["gain"]), f"{ratio:.0f}"])
    return table(["%", "order 1", "order 2", "gain, points", "time ratio"], rows)


def sparse_taggers() -> str:
    data = result("sparse_taggers")

    def row(name: str, of: dict[str, Any]) -> list[str]:
        numbers = (f"{of['weights']:,}", f"{of['bytes'] / 1e6:.2f}", f"{100 * of['f1']:.2f}")
        objective, speed = of.get("objective"), of["tokens_per_second"]
        told = "" if objective is None else f"{objective:.1f}"
        return [name, told, *numbers, f"{of['processor_seconds']:.0f}", f"{speed / 1000:.0f}"]

    rows, notes = [], []
    for name, both in data["penalties"].items():
        peer, ours = both["crfsuite"], both["structune"]
        rows += [row(f"CRFsuite, {name}", peer), row("structune, the same", ours)]
        reached = ours["evaluations_to_crfsuite"]
        when = " is not reached," if reached is None else f" is reached after {reached} evaluations, and"
        notes.append(
            f"{name}: CRFsuite's objective after {peer['iterations']} iterations{when} F1 in points differs "
            f"by {interval(ours['minus_crfsuite'])}"
        )
    rows += [row(f"structune, {name}", of) for name, of in data["learned"].items()]
    header = [
        "",
        "objective",
        "weights",
        "file, MB",
        "test F1, %",
        "training, s",
        "tagging, tokens/s, thousand",
    ]
    return f"{table(header, rows)}\n\n{'. '.join(notes)}."


def parsers() -> str:
    features = {"own": "features of its parser", "default": "default templates"}
    models = {
        "structune": "`SequenceTagger()`",
        "structune, O counts half": '`SequenceTagger(class_weight={"O": 0.5})`',
        "crfsuite, default": "CRFsuite, default",
        "crfsuite, package": "CRFsuite, settings of the package",
        "crfsuite, grid": "CRFsuite, best of a grid",
    }
    rows = []
    for name, found in result("parsers")["rows"].items():
        corpus, kind = name.split(", ")
        for k, (model, label) in enumerate(models.items()):
            row = found.get(model)
            if row is None:
                continue
            rows.append([
                f"{corpus}, {features[kind]}: {label}",
                f"{100 * row['whole']:.1f}",
                interval(row["structune_minus"]) if k else "",
                f"{100 * row['tokens']:.2f}",
                f"{100 * row['f1']:.2f}" if "f1" in row else "",
                interval(row["structune_minus_f1"]) if "f1" in row and k else "",
                f"{row['seconds']:.0f}",
                f"{row['bytes'] / 1e6:.2f}",
            ])  # fmt: skip
    header = [
        "corpus, features: program",
        "whole strings right, %",
        "lead of SequenceTagger(), points",
        "tokens right, %",
        "F1 of segments, %",
        "lead in F1, points",
        "training, s",
        "file, MB",
    ]
    return table(header, rows)


def segments() -> str:
    data = result("segments")
    rows = []
    for name, of in data["models"].items():
        base = name.startswith("chain,") and "BIOES" not in name
        rows.append([
            name,
            f"{100 * of['f1']:.2f}",
            "" if base else interval(of["minus_chain"]),
            f"{of['weights']:,}",
            f"{of['seconds']:.0f}",
            f"{of['tokens_per_second'] / 1000:.0f}",
        ])  # fmt: skip
    header = [
        "",
        "test F1, %",
        "difference to the chain, points",
        "weights",
        "training, s",
        "tagging, tokens/s, thousand",
    ]
    return table(header, rows)


def simulation() -> str:
    data = result("hmm_simulation")
    methods = ("grid", "single", "separate", "grouped")
    rows = []
    for row in (*data["against_relevant"], *data["against_training"]):
        low, high = row["gain_interval"]
        errors = (f"{row['error'][m]:.3f}" for m in methods)
        gain = f"{row['gain']:+.3f} [{low:+.3f}, {high:+.3f}]"
        rows.append([str(row["n_train"]), str(row["n_relevant"]), *errors, gain])
    return table(["M", "R", *methods, "lead of grouped over the next best"], rows)


def rna_speed() -> str:
    data = result("rna_speed")
    rows = [
        [
            str(row["length"]),
            *(f"{row[key]:.3g}" for key in ("vienna_pairs", "structune_pairs")),
            f"{row['pairs_times_faster']:.0f}",
            *(f"{row[key]:.3g}" for key in ("vienna_best", "structune_best")),
            f"{row['best_times_faster']:.0f}",
        ]
        for row in data["folding"]
    ]
    fold, at = data["s151"], {row["length"]: row for row in data["folding"]}
    notes = (
        f"At 1200 bases {at[1200]['multiply_adds_per_second'] / 1e9:.1f} billion multiply-adds a second; "
        f"a product of matrices reaches {data['blas_multiply_adds_per_second'] / 1e9:.0f}. A gradient of all "
        f"weights over {fold['sequences']} sequences of S151Rfam ({fold['bases']} bases): "
        f"{fold['gradient_1']:.2f} s, with two threads {fold['gradient_2']:.2f} s. "
    )
    local = data["genome"]
    notes += (
        f"Long sequences, on two threads, are below. The genome has spans of at most {local['span']}; "
        f"ViennaRNA's local folding of the same bases, means over windows of so many, takes "
        f"{local['vienna_local']:.1f} s. The share is that of the multiply-adds of two such threads of BLAS"
    )
    most = 2 * data["blas_multiply_adds_per_second"]
    long = [
        [
            row["what"],
            f"{row['length']:,}",
            "all pairs" if row["method"] == "pairs" else "best structure",
            f"{row['seconds']:.1f}",
            f"{row['peak_mb'] / 1000:.1f}",
            f"{100 * row['multiply_adds_per_second'] / most:.0f}"
            if "multiply_adds_per_second" in row
            else "",
        ]
        for row in data["long"]
    ]
    of_long = table(["sequence", "bases", "computed", "seconds", "memory, GB", "share of BLAS, %"], long)
    header = ["bases", "all pairs: ViennaRNA, s", "structune, s", "ratio"]
    header += ["best structure: ViennaRNA, s", "structune, s", "ratio"]
    return f"{table(header, rows)}\n\n{notes}.\n\n{of_long}\n\n{_other_speeds(data['others'])}"


def _other_speeds(data: list[dict[str, float]]) -> str:
    """Of two strands, and of circles."""

    def told(row: dict[str, float], kind: str) -> list[str]:
        theirs, ours = row[f"vienna_{kind}"], row[f"structune_{kind}"]
        return [f"{theirs:.3g}", f"{ours:.3g}", f"{theirs / ours:.2g}"]

    rows = [[str(row["length"]), *told(row, "strands"), *told(row, "circle")] for row in data]
    header = ["bases", "two strands, all pairs: ViennaRNA, s", "structune, s", "ratio"]
    return table([*header, "circle: ViennaRNA, s", "structune, s", "ratio"], rows)


def _alignments_of_size(best: dict[str, Any], posterior: dict[str, Any]) -> list[str]:
    """A row: million cells a second, and the ratio of structune's to each peer's."""

    def millions(row: dict[str, Any], *names: str) -> list[str]:
        found = row["cells_per_second"]
        return [f"{found[name] / 1e6:.3g}" if name in found else "" for name in names]

    def ratios(row: dict[str, Any], *pairs: str) -> list[str]:
        found = row["times_faster"]
        return [f"{found[pair]:.2g}" if pair in found else "" for pair in pairs]

    parasail = max(("parasail_sat", "parasail_16"), key=best["cells_per_second"].__getitem__)
    return [
        str(best["residues"]),
        *millions(best, parasail, "biopython", "affine"),
        *ratios(best, f"affine than {parasail}", "affine than biopython"),
        *millions(best, "full"),
        *millions(posterior, "probcons", "affine", "full"),
        *ratios(posterior, "affine than probcons", "full than probcons"),
    ]


def alignment_speed() -> str:
    data = result("alignment_speed")
    rows = [_alignments_of_size(*pair) for pair in zip(data["best"], data["posterior"], strict=True)]
    at = {row["residues"]: row["cells_per_second"] for row in data["posterior"]}[1000]
    notes = [
        "parasail is SIMD code on integers for one matrix and affine gaps, the faster of 8 and 16 bits; full "
        "is a model that it and Biopython do not have. Biopython has no probabilities. ProbCons is a whole "
        f"process less one for ten residues. {data['best'][-1]['residues']}: its pairs as they are."
    ]
    notes += [
        f"A gradient of {row['pairs']} pairs of 200 residues, {row['features']} ({row['weights']} weights): "
        f"{row['gradient_1']:.2f} s ({row['ns_per_cell']:.0f} ns a cell), with two threads "
        f"{row['gradient_2']:.2f} s; a product with the Hessian takes "
        f"{row['gradients_per_hessian_product']:.1f} times as long."
        for row in data["gradient"]
    ]
    notes += [
        f"Two of {row['residues']} residues, {row['features']}, "
        f"{'best alignment' if row['method'] == 'best' else 'maximum expected accuracy'}: "
        f"{row['seconds']:.1f} s, {row['peak_mb'] / 1000:.1f} GB."
        for row in data["long"]
    ]
    notes += [
        f"Probabilities, {features}: {least['flops']} operations and {least['bytes']} bytes a cell, at the "
        f"speed of a product of matrices {least['flops_ns']:.1f} ns, at that of copying "
        f"{least['bytes_ns']:.1f} ns; of 1000 residues a cell takes {1e9 / at[features]:.0f} ns."
        for features, least in data["least"]["models"].items()
    ]
    header = ["residues", "best alignment, million cells/s: parasail", "Biopython", "structune, affine"]
    header += ["affine / parasail", "affine / Biopython", "structune, full"]
    header += [
        "probabilities of all matches, million cells/s: ProbCons",
        "structune, affine",
        "structune, full",
    ]
    header += ["affine / ProbCons", "full / ProbCons"]
    return f"{table(header, rows)}\n\n{' '.join(notes)}"


def alignment_accuracy() -> str:
    data, rows = result("alignment_accuracy"), []
    names = {"sabre": "SABmark, two folds", "prefab4": "PREFAB 4, from SABmark"}
    for test, found in data["summary"].items():
        sizes = ", ".join(f"{key} {n}" for key, n in found["pairs"].items())
        rows.append([f"**{names[test]}** (pairs: {sizes}; {found['files']} files)", *[""] * 8])
        for method, row in found["methods"].items():
            published = data["published"].get(method) if test == "sabre" else None
            gains = (
                found["differences"].get(f"{method} minus {base}") for base in ("BLOSUM62 11/1", "ProbCons")
            )
            tuned = method.startswith("BLOSUM") and "/" not in method
            rows.append([
                f"{method}, tuned gaps" if tuned else method,
                *(f"{row['recall'].get(key, np.nan):.3f}" for key in found["pairs"]),
                f"{row['precision']['all']:.3f}",
                " ".join(f"{value:.3f}" for value in published) if published else "",
                ", ".join(interval(gain, 1.0, 3) for gain in gains if gain),
            ])  # fmt: skip
    notes = "; ".join(
        f"{names[test]}, {pair}: {interval(row, 1.0, 3)}"
        for test, found in data["summary"].items()
        for pair, row in found["differences"].items()
    )
    header = ["Q by identity, %", "0-10", "11-20", "21-30", "31+", "all", "precision"]
    header += ["published Q (another set)", "minus BLOSUM62 11/1, minus ProbCons"]
    return f"{table(header, rows)}\n\nDifferences in Q: {notes}."


def alignment_center() -> str:
    data = result("alignment_center")
    rows = [
        [
            str(row["size"]),
            *(f"{q:.3f} ± {row['deviation'][name]:.3f}" for name, q in row["q"].items()),
            interval(row["difference"], 1.0, 3),
        ]
        for row in data["sizes"]
    ]
    header = ["training pairs", *(f"Q, prior {name}" for name in data["sizes"][0]["q"]), "difference"]
    note = (
        f"Means and deviations over {data['draws']} draws, on {data['test_pairs']} pairs of other families."
    )
    return f"{table(header, rows)}\n\n{note} BLOSUM62 11/1 has {data['base']:.3f}."


def rna_accuracy() -> str:
    data, rows = result("rna_accuracy"), []
    methods = ("pretrained", "contrafold", "eternafold", "vienna_mea", "vienna_mfe")
    for name, parts in data["sets"].items():
        for part, row in parts.items():
            if row["sequences"] >= 20:
                f1 = [f"{row[method]['f1']:.3f}" if method in row else "" for method in methods]
                differences = [row.get(f"pretrained minus {peer}") for peer in methods[1:4]]
                gains = [interval(each) if each else "" for each in differences]
                rows.append([f"{name}, {part}", str(row["sequences"]), *f1, *gains])
    header = ["pooled F1 of base pairs", "sequences", "structune", "CONTRAfold", "EternaFold"]
    header += ["ViennaRNA MEA", "ViennaRNA MFE"]
    header += [f"structune - {peer}, points" for peer in ("CONTRAfold", "EternaFold", "ViennaRNA MEA")]
    return table(header, rows)


def rna_pseudoknots() -> str:
    data = result("rna_pseudoknots")
    thresholds = ("nested", "0.4", "0.5", "0.6", "0.7")
    rows = [[family, *(f"{of[t]:.3f}" for t in thresholds)] for family, of in data["families"].items()]
    rows.append(["mean", *(f"{data['means'][t]:.3f}" for t in thresholds)])
    others, test = data["without"], data["TestSetA"]
    worst = max(others, key=lambda family: others[family]["nested"] - others[family]["knotted"])
    told = [
        f"{test[k]['f1']:.3f} (sensitivity {test[k]['sensitivity']:.3f}, PPV {test[k]['ppv']:.3f})"
        for k in ("nested", "knotted")
    ]
    found = [name for name, of in data["textbook"].items() if of["found"]]
    missed = [name for name in data["textbook"] if name not in found]
    means = [np.mean([of[k] for of in others.values()]) for k in ("nested", "knotted")]
    note = (
        f"{test['sequences']} sequences of test set A that have pseudoknots: F1 {told[0]}, with crossing "
        f"helices {told[1]}; in points {interval(test['gain'])}. Sequences of ArchiveII without "
        f"pseudoknots: mean over families {means[0]:.3f} and {means[1]:.3f}; most is lost for {worst}, "
        f"{others[worst]['nested']:.3f} and {others[worst]['knotted']:.3f}. Textbook pseudoknots found: "
        f"{', '.join(found)}; not found: {', '.join(missed)}."
    )
    header = [
        "family of ArchiveII, F1",
        "without crossing helices",
        *(f"from {t} on" for t in thresholds[1:]),
    ]
    return f"{table(header, rows)}\n\n{note}"


def rna_generalization() -> str:
    data, rows = result("rna_generalization"), []
    for name, row in data["models"].items():
        gain = interval(row["gain"]) if rows else ""
        rows.append([name, f"{row['gamma']:g}", f"{row['f1']:.3f}", gain, f"{row['mean_f1']:.3f}"])
    header = [f"{data['sequences']} sequences, {data['families']} families", "gamma", "pooled F1"]
    return table([*header, "points above the first", "mean F1"], rows)


def rna_left_out() -> str:
    data, rows = result("rna_left_out"), []
    for family, row in data["families"].items():
        f1 = [f"{row[name][key]:.3f}" for key in ("mean_f1", "f1") for name in ("structune", "contrafold")]
        rows.append([family, str(row["sequences"]), *f1, interval(row["gain"])])
    header = ["left out", "sequences", "mean F1", "CONTRAfold's parameters", "pooled F1"]
    return table([*header, "CONTRAfold's parameters", "structune minus CONTRAfold, pooled F1, points"], rows)


def multiple_alignment() -> str:
    return "\n\n".join(_aligned_sets(name) for name in ("sabre", "prefab4"))


def _aligned_sets(name: str) -> str:
    data, rows = result("multiple_alignment")[name], []
    for label, row in data["rows"].items():
        gain = "" if label == "structune" else interval(row["Q of structune, less"])
        rows.append([label, f"{row['Q']:.3f}", f"{row['TC']:.3f}", gain])
    header = [f"{data['sets']} sets of {name}", "Q", "TC", "structune's Q minus this method's, points"]
    return table(header, rows)


def rna_alignments() -> str:
    data = result("rna_alignments")
    rows = []
    for name, row in data["methods"].items():
        gain = "" if name == "structune" else interval(row["structune minus"])
        rows.append([name, f"{row['f1']:.3f}", f"{row['where it was chosen']:.3f}", gain])
    seconds = data["seconds"]
    note = f"Seconds, all: structune {seconds['structune']:.0f}, RNAalifold {seconds['RNAalifold']:.0f}."
    header = [
        f"{data['alignments']} alignments",
        "pooled F1",
        "F1 on the alignments that settings were chosen on",
        "structune minus this method, points",
    ]
    return f"{table(header, rows)}\n\n{note}"


def rna_hyperparameters() -> str:
    data = result("rna_hyperparameters")
    papers = [data["published"][paper]["roc_area"] for paper in ("do_foo_ng_2007", "foo_do_ng_2009")]
    rows = []
    for name, row in data["summary"]["methods"].items():
        published = " and ".join(f"{paper[name]:.3f}" for paper in papers if name in paper)
        area, loss = row["roc_area"], row["test_log_loss"]
        spread = f" ± {area['standard_deviation']:.3f}" if row["n_splits"] > 1 else ""
        costs = [f"{row[key]['mean']:.0f}" for key in ("seconds", "passes")]
        measures = [f"{area['mean']:.3f}{spread}", published, f"{loss['mean']:.0f}"]
        rows.append([row["label"], str(row["n_splits"]), *measures, *costs])
    notes = "; ".join(
        f"{data['summary']['methods'][row['better']]['label']} minus "
        f"{data['summary']['methods'][row['base']]['label']}: area {row['roc_area']['text']}, "
        f"log loss {interval(row['test_log_loss'], 1.0)}"
        for row in data["summary"]["differences"]
        if (row["better"], row["base"]) in _DIFFERENCES
    )
    header = ["hyperparameters", "splits", "ROC area", "published", "test log loss", "seconds", "passes"]
    return f"{table(header, rows)}\n\nPaired differences: {notes}."


def rna_ramp() -> str:
    data, rows = result("rna_ramp"), []
    found, published = data["summary"], data["published"]
    losses = tuple(published["losses"])

    def both(row: dict[str, Any], how: str) -> list[str]:
        values = (row["losses"][loss] for loss in losses)
        return [f"{value['sensitivity'][how]:.3f} / {value['ppv'][how]:.3f}" for value in values]

    def gains(row: dict[str, Any], how: str, pair: str) -> list[str]:
        return [interval(row["differences"][pair][key][how]) for key in ("sensitivity", "ppv")]

    for k, (name, row) in enumerate(found["recall"].items()):
        sizes = f"{found['sequences'][name]} ({published['sequences'][name]})"
        papers = ["{:.3f} / {:.3f}".format(*published["losses"][loss][k]) for loss in losses]
        rows.append([name, sizes, *both(row, "pooled"), *papers, *gains(row, "pooled", "ramp minus convex")])
    whole = found["recall"]["all"]
    more = {"all, means over sequences": (whole, "mean"), "all, F1 chooses": (found["f1"]["all"], "pooled")}
    for name, (row, how) in more.items():
        rows.append([name, "", *both(row, how), "", "", "", *gains(row, how, "ramp minus convex")])
    others = {
        pair: gains(whole, "pooled", pair) for pair in whole["differences"] if pair != "ramp minus convex"
    }
    notes = "; ".join(f"{pair}: sensitivity {values[0]}, PPV {values[1]}" for pair, values in others.items())
    chosen = {loss: [f"{fold[loss]['penalty']['recall']:g}" for fold in data["folds"]] for loss in losses}
    penalties = ", ".join(f"{loss} {' and '.join(values)}" for loss, values in chosen.items())
    header = ["sensitivity / PPV by bases", "sequences (the paper's)", *losses]
    header += [f"{loss}, published" for loss in losses]
    header += [f"ramp - convex: {what}, points" for what in ("sensitivity", "PPV")]
    return f"{table(header, rows)}\n\nAll lengths, points: {notes}. Penalties of the two folds: {penalties}."


_FLAT_LABELS = {
    "grid": "grid, 21 values, 5 folds",
    "grid_warm": "the same with warm starts",
    "implicit": "implicit",
    "direct": "direct",
    "majorize_all": "majorize that counts all weights",
    "majorize_ard": "majorize, a penalty a feature",
    "plain": "least squares",
    "evidence": "majorize, nothing held out",
    "LogisticRegressionCV_log_loss": "LogisticRegressionCV by log loss",
}


_FLAT_PEERS = ("grid", "grid_warm", "implicit", "LogisticRegressionCV", "LogisticRegressionCV_log_loss")
_FLAT_PEERS += ("RidgeCV", "BayesianRidge", "ARDRegression")


def flat_summary() -> str:
    data, rows = result("flat_tables")["summary"], []
    for task in ("binary", "multiclass", "regression"):
        for pair, row in data[task].items():
            method, _, peer = pair.partition(" minus ")
            if peer not in _FLAT_PEERS:
                continue
            ratios, fewer = row["times_faster"]["by_set"].values(), row["times_fewer_passes"]
            label = _FLAT_LABELS.get(peer, peer) + (", against one of ours" if method != "majorize" else "")
            rows.append([
                f"{task}: {label}",
                f"{row['times_faster']['median']:.2g} ({min(ratios):.2g} to {max(ratios):.2g})",
                f"{fewer:.1f}" if fewer else "",
                "" if task == "regression" else interval(row["mean_excess_error"]),
                row["within_one_standard_error"],
                ", ".join(row["worse_on"]),
                ", ".join(row["better_on"]),
            ])  # fmt: skip
    large = data["largest"]
    slower = [
        name
        for task in ("binary", "multiclass", "regression")
        for name, ratio in data[task]["implicit_times_faster_than_grid"].items()
        if ratio < 1
    ]
    beaten = [
        f"{name} ({1 / ratio:.1f} times)"
        for task in ("binary", "multiclass", "regression")
        for pair, row in data[task].items()
        if pair in ("majorize minus LogisticRegressionCV", "majorize minus RidgeCV")
        for name, ratio in row["times_faster"]["by_set"].items()
        if ratio < 1
    ]
    notes = (
        f"On the {len(large['times_faster']['by_set'])} largest sets for classification (examples x "
        f"features) majorize is {large['times_faster']['median']:.0f} times faster than LogisticRegressionCV "
        f"in the median; its error is higher by, in points, {interval(large['mean_excess_error'])}. "
        f"Implicit is slower than the plain grid on {', '.join(slower) or 'no set'}. LogisticRegressionCV "
        f"or RidgeCV is faster than majorize on {', '.join(beaten) or 'no set'}."
    )
    header = ['`tuning="majorize"` against', "times faster, median (range)", "times fewer passes, median"]
    header += ["mean excess error, points", "error at most a standard error higher", "worse on", "better on"]
    return f"{table(header, rows)}\n\n{notes}"


def spread(row: dict[str, Any], scale: float, digits: int) -> str:
    """Mean error, and its standard deviation over splits where there are several."""
    sd = row["error"]["sd"]
    text = f"{scale * row['error']['mean']:.{digits}f}"
    return text if sd is None else f"{text} ± {scale * sd:.{digits}f}"


def flat_tables() -> str:
    sets, rows = result("flat_tables")["sets"], []
    methods = ("grid", "implicit", "direct", "majorize_all", "majorize", "LogisticRegressionCV")
    for name, record in sets.items():
        if record["task"] == "regression":
            continue
        found, published = record["methods"], record["published"]
        papers = " / ".join(f"{100 - published[m]:.1f}" for m in methods[:4] if published)
        sizes = f"{record['n_examples']} x {record['n_features']}, {record['n_classes']}"
        seconds = " / ".join(f"{found[m]['seconds']['median']:.2g}" for m in methods)
        rows.append([f"{name} ({sizes})", *(spread(found[m], 100, 1) for m in methods), papers, seconds])
    header = ["test error, % (examples x features, classes)", *(_FLAT_LABELS.get(m, m) for m in methods)]
    header += ["published, the first four", "seconds, in this order"]
    return table(header, rows)


def flat_probabilities() -> str:
    """Log loss and calibration error of every set for classification, and their means."""
    sets = {
        name: r["methods"] for name, r in result("flat_tables")["sets"].items() if r["task"] != "regression"
    }
    methods = ("evidence", "majorize", "implicit", "LogisticRegressionCV", "LogisticRegressionCV_log_loss")

    def cells(rows: list[dict[str, Any]]) -> list[str]:
        columns = ([found[m] for found in rows] for m in methods)
        return [
            " / ".join(
                f"{np.mean([row[key] for row in column]):.3f}" for key in ("log_loss", "calibration_error")
            )
            for column in columns
        ]

    rows = [[name, *cells([found])] for name, found in sets.items()]
    rows.append(["mean", *cells(list(sets.values()))])
    return table(["log loss / calibration error", *(_FLAT_LABELS.get(m, m) for m in methods)], rows)


def tuning_convergence() -> str:
    """The ends of searches from four starts."""
    data, rows = result("tuning_convergence"), []
    for name, found in data.items():
        if name == "machine":
            continue
        base = found["one_fit"]["passes"]
        for label, one in found["starts"].items():
            rows.append([
                name,
                label,
                one["status"],
                f"{min(one['heldout_loss']):.2f}",
                f"{one['passes'] / base:.1f}",
                f"{one['test_at_end']:.4f}",
                f"{found['one_fit']['test']:.4f} / {found['majorize']['test']:.4f}",
            ])  # fmt: skip
    header = ["", "initial penalties", "status", "lowest held-out loss", "cost in untuned fits", "test score"]
    return table([*header, "score with penalties of 1 / of majorize"], rows)


def tuning_regret() -> str:
    """Test loss above the lowest of all methods by data set, and means over the sets."""
    data, rows = result("tuning_regret"), []
    found = data["summary"]
    for name, row in data["sets"].items():
        methods, auto = row["methods"], row["methods"].get("auto", {})
        regrets = [f"{100 * methods[m]['regret']:.1f}" if m in methods else "" for m in found]
        scores = [f"{methods[m]['score']:.3f}" if m in methods else "" for m in ("untuned", "auto", "peer")]
        cost = f"{auto['cost']['passes']:.1f}" if auto else ""
        size = f"{row['n_train']:,} / {row['n_test']:,}"
        rows.append([name, size, *regrets, row["score"], *scores, cost])
    means = [f"{100 * of['regret']['mean']:.1f}" for of in found.values()]
    rows.append(["mean", "", *means, *[""] * 5])
    columns = [f"score, {m}" for m in ("untuned", "auto", "peer")]
    header = ["", "train / test", *(f"{m}, %" for m in found), "score", *columns, "cost of auto, fits"]
    return f"{table(header, rows)}\n\n{data['sentence']}"


def wide_tables() -> str:
    """Log loss and seconds by shape of the table."""
    rows = []
    for size, found in result("wide_tables")["sizes"].items():
        for method, row in found.items():
            off = f"{100 * row['off_by']:.2g}" if "off_by" in row else ""
            cells = [f"{row['log_loss']:.3f}", f"{100 * row['accuracy']:.1f}", f"{row['seconds']:.2g}", off]
            rows.append([size, method, *cells])
    header = [
        "examples x features",
        "",
        "log loss",
        "accuracy, %",
        "seconds",
        "error of the held-out loss, %",
    ]
    return table(header, rows)


def flat_regression() -> str:
    sets, rows = result("flat_tables")["sets"], []
    methods = ("plain", "grid", "majorize_all", "majorize", "majorize_ard")
    methods += ("RidgeCV", "BayesianRidge", "ARDRegression")
    for name, record in sets.items():
        if record["task"] != "regression":
            continue
        found, published = record["methods"], record["published"]
        papers = " / ".join(f"{published[m]:.4g}" if m in published else "-" for m in methods[:3])
        ours = " / ".join(
            f"{np.median([row['penalty'] for row in found[m]['splits']]):.3g}"
            for m in ("grid", "majorize_all")
        )
        theirs = " / ".join(f"{value:.3g}" for value in record["published_penalty"])
        costs = " / ".join(f"{1000 * found[m]['seconds']['median']:.2g}" for m in methods)
        errors = [f"{found[m]['error']['mean']:.4g} ± {found[m]['error']['sd']:.2g}" for m in methods]
        rows.append([name, *errors, papers, ours, theirs, costs])
    header = ["test squared error", *(_FLAT_LABELS.get(m, m) for m in methods), "published, the first three"]
    header += ["penalty: grid / counts all", "published penalty", "ms, in this order"]
    return table(header, rows)


def flat_groups() -> str:
    data, rows = result("flat_groups")["problems"], []
    for problem, found in data.items():
        for row in found:
            methods = [f"{100 * value['error']:.1f}" for value in row["methods"].values()]
            gains = [
                interval(row["differences"][f"{method}, grouped minus {base}"])
                for method in ("majorize", "implicit")
                for base in (f"{method}, single", "grid")
            ]
            rows.append([f"{problem}, {row['n_noise']} noise features", *methods, *gains])
    header = ["test error, %", *next(iter(data.values()))[0]["methods"]]
    header += [
        f"{method}, grouped minus {base}"
        for method in ("majorize", "implicit")
        for base in ("single", "grid")
    ]
    return table(header, rows)


def noisy_classes() -> str:
    data, rows = result("noisy_classes"), []
    for name, levels in data["sets"].items():
        for k, (noise, record) in enumerate(levels.items()):
            given, true = record["right"], record["truly_right"]
            rows.append(
                [
                    f"{name} ({record['n']}), {100 * float(noise):.0f} %",
                    *(f"{given[loss]['mean']:.1f} ± {given[loss]['sd']:.1f}" for loss in ("convex", "ramp")),
                    interval(given["ramp minus convex"], 1.0),
                    *(
                        "{:.1f} ± {:.1f}".format(*data["published"][name][loss][k])
                        for loss in ("convex", "ramp")
                    ),
                    *(f"{true[loss]['mean']:.1f}" for loss in ("convex", "ramp")),
                    interval(true["ramp minus convex"], 1.0),
                ]
            )
    header = ["accuracy, % (examples), labels shuffled", "convex", "ramp", "ramp minus convex"]
    header += ["convex, published", "ramp, published"]
    header += ["convex, true labels", "ramp, true labels", "ramp minus convex, true labels"]
    records = [record for levels in data["sets"].values() for record in levels.values()]
    unfinished = {
        loss: sum(sum(record["unfinished"][loss]) for record in records) for loss in ("convex", "ramp")
    }
    found = " and ".join(f"{number} {loss}" for loss, number in unfinished.items())
    return f"{table(header, rows)}\n\nOn the paths {found} fits ran out of passes before they converged."


def ohsumed() -> str:
    data = result("ohsumed")
    shown, rows = (1, 2, 3, 5, 10), []
    for name, row in [*data["methods"].items(), ("random order", data["random"])]:
        difference = data["differences"].get(f"ramp minus {name}")
        gain = interval(difference, 1.0, 4) if difference else ""
        rows.append([name, *(f"{row['ndcg'][k - 1]:.3f}" for k in shown), f"{row['mean']:.4f}", gain])
    header = [
        "NDCG@k on the test queries",
        *(f"k = {k}" for k in shown),
        "mean of 1 .. 10",
        "ramp minus this method",
    ]
    norms = ", ".join(f"{name} {norm:.1e}" for name, norm in data["largest_norm_of_weights"].items())
    return f"{table(header, rows)}\n\nLargest norm of the weights over all penalties and folds: {norms}."


def solvers() -> str:
    rows = []
    for name, problem in result("solvers")["problems"].items():
        for solver, row in problem["solvers"].items():
            reached = row["reached"].values()
            cells = [
                "not reached" if each["seconds"] is None else f"{each['seconds']:.2g} / {each['passes']:.0f}"
                for each in reached
            ]
            rows.append([f"{name}, {solver}", *cells])
    gaps = [f"gap {float(gap):g}, seconds / passes" for gap in result("solvers")["gaps"]]
    return table(["solver", *gaps], rows)


def stock_direction() -> str:
    data = result("stock_direction")["summary"]
    shown = ("unconstrained", "constrained", "regularised", "persistence", "frequencies", "majority")

    def row(name: str, accuracy: dict[str, float]) -> list[str]:
        return [name, *(f"{100 * accuracy[method]:.1f}" for method in shown)]

    rows = [
        row(f"{100 * each['low']:.0f} to {100 * each['high']:.0f} ({each['tickers']})", each["accuracy"])
        for each in data["bins"]
        if each["tickers"]
    ]
    rows += [row(f"all ({data['tickers']}), {truth}", data["accuracy"][truth]) for truth in data["accuracy"]]
    gains = "; ".join(f"{name} {interval(gain)}" for name, gain in data["constrained minus"].items())
    return f"{table(['accuracy, % (tickers)', *shown], rows)}\n\nConstrained minus, points: {gains}."


def constraint_gradients() -> str:
    rows = []
    for task, found in result("constraint_gradients")["summary"].items():
        free = found["exact"]
        alone = [f"{free['free_objective']:.2f}", "", "", f"{100 * free['free_accuracy']:.1f}", "", ""]
        rows.append([f"**{task}**, no constraints", "", "", *alone])
        for name, row in found.items():
            same = name == "exact"
            rows.append(
                [
                    name,
                    f"{row['rounds']:.1f}",
                    f"{row['passes']:.0f}",
                    f"{row['objective']:.2f}",
                    "" if same else interval(row["objective_over_exact"]),
                    f"{row['most_violation']:.0e}",
                    f"{100 * row['accuracy']:.1f}",
                    "" if same else interval(row["accuracy_minus_exact"], digits=1),
                    f"{row['seconds']:.2f}",
                ]
            )
    header = [
        "gradient",
        "rounds",
        "passes",
        "objective",
        "objective above exact, %",
        "largest violation",
        "accuracy, %",
    ]
    return table([*header, "difference to exact, points", "s"], rows)


_GENE_SETS = {"fly": "fly", "a_thaliana": "A. thaliana, 1 %", "c_elegans": "C. elegans, 1 %"}


def gene_prediction() -> str:
    data, rows = result("gene_prediction"), []
    gene_levels = ("nucleotide", "exon", "gene")

    def accuracy(found: dict[str, list[float]]) -> list[str]:
        return [f"{100 * found[level][0]:.1f} / {100 * found[level][1]:.1f}" for level in gene_levels]

    for name, found in data["summary"].items():
        for method, row in found["methods"].items():
            parts = [*accuracy(row["windows"]), *accuracy(row["margin"])]
            label = f"{_GENE_SETS[name]} ({row['splits']}), {method}"
            search = f"{row['rounds']} ({row['met']} of {row['splits']})" if "rounds" in row else ""
            rows.append([label, *parts, f"{row['passes']:.0f}", f"{row['seconds']:.0f}", search])
    header = ["sensitivity / precision, % (splits)", *(f"{level}, windows" for level in gene_levels)]
    header += [*(f"{level}, at the gene" for level in gene_levels), "passes", "s", "rounds (met)"]
    return f"{table(header, rows)}\n\n{_gene_differences(data)}"


def _gene_differences(data: dict[str, Any]) -> str:
    rows = [
        [pair, *(interval(row[level]) for level in ("exon", "gene"))]
        for pair, row in data["all sets"].items()
    ]
    return table(["difference in F1 at the gene, points, all sets", "exon", "gene"], rows)


def eukaryotic_genes() -> str:
    data, rows = result("eukaryotic_genes"), []
    gene_levels = ("nucleotide", "exon", "gene")

    def accuracy(found: dict[str, list[float]]) -> list[str]:
        return [f"{100 * found[level][0]:.1f} / {100 * found[level][1]:.1f}" for level in gene_levels]

    for name, found in data["summary"].items():
        for method, row in found.items():
            if method != "differences":
                parts = [*accuracy(row["windows"]), *accuracy(row["margin"])]
                seconds = (f"{row['seconds'][what]:.0f}" for what in ("training", "prediction"))
                rows.append([f"{_GENE_SETS[name]} ({row['splits']}), {method}", *parts, *seconds])
    header = ["sensitivity / precision, % (splits)", *(f"{level}, windows" for level in gene_levels)]
    header += [*(f"{level}, at the gene" for level in gene_levels), "training, s", "prediction, s"]
    compared = {_GENE_SETS[name]: found["differences"] for name, found in data["summary"].items()}
    others = [
        [f"{pair}, {name}", *(interval(row["windows"][level]) for level in ("exon", "gene"))]
        for name, pairs in {**compared, "all": data["all sets"]}.items()
        for pair, row in pairs.items()
        if pair.endswith(("minus AUGUSTUS", "minus AUGUSTUS, hints")) and pair.count("hints") != 1
    ]
    differences = table(["difference in F1, whole windows, points", "exon", "gene"], others)
    return f"{table(header, rows)}\n\n{differences}"


def gene_speed() -> str:
    rows = [
        [
            name,
            f"{row['weights']:,}",
            *(f"{row['nanoseconds'][what]:.0f}" for what in ("gradient", "best path")),
            f"{row['long']['mb_per_second']:.2f}" if "long" in row else "",
            f"{row['long']['memory_mb']:.0f}" if "long" in row else "",
        ]
        for name, row in result("gene_speed")["models"].items()
    ]
    header = ["model", "weights", "gradient, ns a base", "best genes, ns a base"]
    return table([*header, "10 Mb, genes and probabilities, Mb/s", "memory, MB"], rows)


def prokaryotic_genes() -> str:
    methods = "structune", "structune, ramp", "structune, ramp, starts as annotated", "pyrodigal"
    return genomes("prokaryotic_genes", methods)


def new_genomes() -> str:
    return genomes("new_genomes", ("not adapted", "adapted", "pyrodigal"))


def genomes(name: str, methods: Sequence[str]) -> str:
    """Some of the methods on each genome, and the means of all."""
    data, rows = result(name), []
    for genome, found in data["genomes"].items():
        for method in methods:
            row = found["methods"][method]
            accuracy = [
                f"{100 * row[level]['sensitivity']:.1f} / {100 * row[level]['precision']:.1f}"
                for level in ("stop", "gene")
            ]
            starts = "" if row["verified"] is None else f"{100 * row['verified']:.1f}"
            times = f"{row['training seconds']:.1f}", f"{row['Mb/s']:.1f}"
            rows.append([f"{_species(genome)}, {method}", *accuracy, starts, *times])
    for method, row in data["means"].items():
        f1 = [f"F1 {100 * row[f'{level} F1']:.1f}" for level in ("stop", "gene")]
        rows.append([f"**mean**, {method}", *f1, f"{100 * row['verified']:.1f}", "", f"{row['Mb/s']:.1f}"])
    measures = ["by stop codon", "by both ends", "verified starts, %", "training, s", "Mb/s"]
    return table(["sensitivity / precision, %", *measures], rows)


def metagenomes() -> str:
    data = result("metagenomes")
    rows = [
        [f"{_species(genome)}, {method}", *(f"{100 * sizes[size][method]['f1']:.1f}" for size in sizes)]
        for genome, sizes in data["genomes"].items()
        for method in next(iter(sizes.values()))
    ]
    sizes = list(data["means"])
    rows += [
        [f"**mean**, {method}", *(f"{100 * data['means'][size][method]['f1']:.1f}" for size in sizes)]
        for method in data["means"][sizes[0]]
    ]
    rows += [
        [f"Mb/s, {method}", *(f"{data['means'][size][method]['Mb/s']:.2f}" for size in sizes)]
        for method in data["means"][sizes[0]]
    ]
    return table(["F1 of coding bases, %", *(f"{int(size):,} bases" for size in sizes)], rows)


def cut_genes() -> str:
    """F1 of exons and genes by the length of contigs, of whole genes and of parts."""
    rows = []
    for name, sizes in result("cut_genes").items():
        if name == "machine":
            continue
        for size, found in sizes.items():
            f1 = {way: [100 * row[level]["f1"] for level in ("exon", "gene")] for way, row in found.items()}
            gain = f1["parts"][0] - f1["whole genes"][0]
            cells = [f"{value:.1f}" for way in ("whole genes", "parts") for value in f1[way]]
            rows.append([f"{_species(name)}, {size}", *cells, f"{gain:+.1f}", str(found["parts"]["partial"])])
    header = ["F1, %, by bases of a contig", "whole genes only: exons", "genes"]
    header += ["with partial genes: exons", "genes"]
    return table([*header, "gain, exons", "partial genes predicted"], rows)


def _species(name: str) -> str:
    return name.replace("_", ". ").capitalize()


def multitask_genes() -> str:
    rows = []
    for size, found in result("multitask_genes")["sizes"].items():
        for level in ("stop", "gene"):
            f1 = [f"{100 * of[level]:.1f}" for of in found["f1"].values()]
            gains = [interval(of[level], digits=1) for of in found["hierarchical minus"].values()]
            rows.append([f"{size} genes ({found['draws']} draws), {level}", *f1, *gains])
        methods = list(found["f1"])
        others = list(found["hierarchical minus"])
    return table(["F1, %", *methods, *(f"hierarchical minus {name}" for name in others)], rows)


def multitask_organisms() -> str:
    """F1 of stop codons of each organism, mean over draws."""
    runs, methods = list(result("multitask_genes")["runs"].values()), ("independent", "union", "hierarchical")
    sizes = sorted({run["size"] for run in runs})

    def mean(size: int, method: str, organism: str) -> str:
        own = [run["f1"][method][organism][0] for run in runs if run["size"] == size]
        return f"{100 * np.mean(own):.1f}"

    rows = [
        [_species(organism)]
        + [" / ".join(mean(size, method, organism) for method in methods) for size in sizes]
        for organism in runs[0]["f1"][methods[0]]
    ]
    return table([" / ".join(methods), *(f"{size} genes" for size in sizes)], rows)


def scaling() -> str:
    data = result("scaling")
    tokens, threads, dask = data["varied"]["tokens"], data["varied"]["threads"], data["dask"]
    last, projected = tokens[-1], data["projection"]
    speedup = threads[0]["seconds"] / threads[-1]["seconds"]
    rows = [
        ["tokens a second and pass, one thread", f"{last['tokens'] / last['seconds'] / 1e6:.1f} million"],
        ["speed of two threads over one", f"{speedup:.2f}"],
        ["bytes of an encoded token, on disk or in memory", f"{last['shard bytes'] / last['tokens']:.0f}"],
        [
            f"two Dask processes over two threads, evaluation of {dask['threads']:.2f} s",
            f"{100 * (dask['times as long'] - 1):+.0f} % time",
        ],
        ["projected: a pass over 10^9 tokens, core seconds", f"{projected['core seconds of a pass']:.0f}"],
        ["projected: 100 passes, core hours", f"{projected['core hours of 100 passes']:.1f}"],
        ["projected: files of 10^9 tokens, GB", f"{projected['gigabytes on disk']:.0f}"],
    ]
    return table(["10 attributes a token, 10 labels, 100,000 weights", ""], rows)


def large_tagging() -> str:
    data = result("large_tagging")
    shard, fit = data["shard"], data["fit"]
    held = "within 4 GB of memory" if data["limit in bytes, kept by the kernel"] else "not held to 4 GB"
    rows = [
        ["text file, MB", f"{data['text bytes'] / 1e6:.0f}"],
        ["encoding, s", f"{shard['seconds']:.0f}"],
        [f"shards ({shard['shards']}), MB", f"{shard['bytes'] / 1e6:.0f}"],
        ["peak memory of encoding, MB", f"{shard['peak bytes'] / 1e6:.0f}"],
        ["weights", f"{fit['weights']:,}"],
        [f"fit ({fit['status']}), passes", f"{fit['passes']:.0f}"],
        ["fit, s", f"{fit['fit seconds']:.0f}"],
        ["tokens a second and pass", f"{data['tokens a second and pass'] / 1e6:.1f} million"],
        ["peak memory of the fit, mapped files included, MB", f"{fit['peak bytes'] / 1e6:.0f}"],
    ]
    return table([f"{shard['tokens']:,} tokens, {held}", ""], rows)


def memory() -> str:
    data = result("memory")
    least: dict[str, float] = {}  # of a kind: what Python, the libraries and the model take
    for run in data["runs"]:
        own = run["megabytes"] - (run["needs"] or 0.0)
        least[run["kind"]] = min(own, least.get(run["kind"], own))
    rows = []
    for run in data["runs"]:
        needs = "" if run["needs"] is None else f"{least[run['kind']] + run['needs']:,.0f}"
        rows.append([f"`{run['command']}`", run["input"], needs, f"{run['megabytes']:,.0f}"])
    refused = [
        [f"`{run['command']}`", run["input"], run["refused"].partition(" need ")[2]]
        for run in data["refused"]
    ]
    above = [run for run in data["runs"] if run["megabytes"] > 1000]
    told = "; ".join(f"{run['input']} (`{run['command']}`)" for run in above) or "none"
    return "\n\n".join([
        table(["command", "input", "estimated before, MB", "peak memory, MB"], rows),
        f"Above 1,000 MB: {told}.",
        table(["refused", "input", "it needs"], refused),
    ])  # fmt: skip


def shards() -> str:
    rows = []
    for word, found in result("shards").items():
        if word == "machine":
            continue
        shard, fit, limit = found["shard"], found["fit"], found["limit in gigabytes, kept by the kernel"]
        rows.append([
            word,
            f"{found['text bytes'] / 1e6:,.0f}",
            f"{limit * 1e3:.0f}" if limit else "none",
            f"{shard['seconds']:.0f}",
            f"{shard['seconds'] / 3600 * 20e9 / found['text bytes']:.1f}",
            f"{shard['peak bytes'] / 1e6:.0f}",
            f"{shard['bytes'] / 1e6:,.0f}",
            f"{fit['text bytes'] / 1e6:,.1f}",
            f"{fit['passes']:.0f}",
            f"{fit['fit seconds']:.0f}",
            f"{fit['peak bytes'] / 1e6:.0f}",
            f"{found['largest difference of weights from those in memory']:.0e}",
        ])  # fmt: skip
    header = [
        "model type",
        "text, MB",
        "memory limit, MB",
        "encoding, s",
        "projected for 20 GB, h",
        "peak memory, MB",
        "shards, MB",
        "text of the fit, MB",
        "passes",
        "fit, s",
        "peak memory, MB",
        "largest difference of a weight",
    ]
    return table(header, rows)


def vectors() -> str:
    data, rows = result("vectors"), []
    for kind in ("one lane", "plain loops"):
        for name, row in data[kind].items():
            times = (f"{1e3 * row[key]:.2f}" for key in ("runs, s", "without, s"))
            rows.append([name, kind, *times, f"{row['ratio']:.2f}"])
    return table(["work", "compared with", "vectors, ms", "without, ms", "time ratio"], rows)


def startup() -> str:
    data = result("startup")
    installation, first = data["installation"], data["first prediction"]
    rows = [
        ["Python alone", f"{data['python']:.2f}"],
        ["`import structune`", f"{data['import structune']:.2f}"],
        ["`structune --help`", f"{data['structune --help']:.2f}"],
    ]
    header = ["first prediction", "cold, s", "warm, s", "modules"]
    header += [f"{part}, s" for part in next(iter(first.values()))["spent on"]]
    spent = [
        [name, *(f"{row[key]:.1f}" for key in ("cold", "warm")), str(row["modules"])]
        + [f"{seconds:.2f}" for seconds in row["spent on"].values()]
        for name, row in first.items()
    ]
    size = f"{installation['distributions']} distributions, {installation['bytes'] / 1e6:.0f} MB"
    return "\n\n".join([
        table(["", "seconds of processor time"], rows),
        table(header, spent),
        f"Installed from an index near by: {size}, in {installation['seconds']:.0f} s.",
    ])  # fmt: skip


def fuzz() -> str:
    rows = []
    for name, run in result("fuzz")["runs"].items():
        loaders = run["loaders"].values()
        rows.append([
            name,
            str(len(loaders)),
            f"{sum(row['cases'] for row in loaders):,}",
            str(sum(len(row["failures"]) for row in loaders)),
            f"{max(row['slowest_seconds'] for row in loaders):.1f}",
            f"{max(row['peak_mb'] for row in loaders):.0f}",
        ])  # fmt: skip
    return table(["kernels", "loaders", "cases", "failures", "slowest case, s", "peak memory, MB"], rows)


def chaos_cluster() -> str:
    found = result("chaos")["cluster"]
    seconds = [f"{found['seconds'][name]:.0f}" for name in ("undisturbed", "disturbed")]
    counts = [str(found[name]) for name in ("deaths", "weights", "weights with other bits")]
    return table(
        ["killed workers", "weights", "weights that differ", "seconds without kills", "seconds with kills"],
        [counts + seconds],
    )


def chaos_load() -> str:
    rows = [
        [
            found["fit"],
            str(found["n_jobs"]),
            *(f"{found['processor seconds'][name]:.2f}" for name in ("alone", "beside")),
            f"{found['times as long']:.1f}",
        ]
        for found in result("chaos")["load"]["fits"]
    ]
    header = ["fit", "threads", "processor time alone, s", "beside busy loops, s", "elapsed time ratio"]
    return table(header, rows)


def chaos_kills() -> str:
    works: dict[str, list[dict[str, Any]]] = {}
    for row in result("chaos")["kills"]["works"]:
        works.setdefault(row["work"].partition(":")[0], []).append(row)
    works["all"] = result("chaos")["kills"]["works"]
    names = ["kills", "in a write", "ends", "lost states", "half-written models", "other ends"]
    rows = [
        [kind, str(len(found)), *(f"{sum(row[name] for row in found):,}" for name in names)]
        for kind, found in works.items()
    ]
    return table(
        [
            *("program", "runs", "kills", "kills during a write"),
            *("runs completed", "states lost", "half-written models", "other failures"),
        ],
        rows,
    )


def chaos_disks() -> str:
    rows = [
        [
            found["what"],
            str(found["runs"]),
            ", ".join(map(str, found["exit codes"])),
            str(len(found["failures"])),
        ]
        for found in result("chaos")["disks"]["cases"]
    ]
    return table(["case", "commands", "exit code", "failures"], rows)


def numbers() -> str:
    """The handful of the README: each beside the best of others, with what is to be said against it."""
    flat, genomes_ = result("flat_tables")["summary"], result("new_genomes")
    speed_, tuning = result("conll2000_speed"), result("conll2000_tuning")
    rna, folding = result("rna_accuracy")["sets"], result("rna_speed")["folding"]
    aligned = result("alignment_accuracy")["summary"]["sabre"]
    best = {row["residues"]: row for row in result("alignment_speed")["best"]}[1000]
    genes, ranking = result("eukaryotic_genes")["summary"], result("ohsumed")

    def train(program: str) -> float:
        return median(run[program]["train"] for run in speed_["runs"])

    def f1(method: str, data: str = "ArchiveII", part: str = "all") -> str:
        return f"{rna[data][part][method]['f1']:.3f}"

    def q(method: str) -> str:
        return f"{aligned['methods'][method]['recall']['all']:.3f}"

    def exons(method: str) -> str:
        return f"{100 * np.mean([of[method]['windows']['exon'][2] for of in genes.values()]):.1f}"

    def seconds(method: str) -> float:
        rows = [genome["methods"][method]["training seconds"] for genome in genomes_["genomes"].values()]
        return float(np.mean(rows))

    def ndcg(method: str) -> str:
        return f"{ranking['methods'][method]['mean']:.3f}"

    new = "Rfam, predicted", "other families"
    n_new = rna[new[0]][new[1]]["sequences"]
    implicit, grid = (tuning["structune"][name] for name in ("implicit", "grid"))
    long = {row["length"]: row for row in folding}[1200]
    adapted, prodigal = (genomes_["means"][name] for name in ("adapted", "pyrodigal"))
    tables_ = [flat[task]["majorize minus LogisticRegressionCV"] for task in ("binary", "multiclass")]
    ratios = [ratio for row in tables_ for ratio in row["times_faster"]["by_set"].values()]
    worse = sorted(name for row in tables_ for name in row["worse_on"])
    excess = " and ".join(f"{100 * row['mean_excess_error']['value']:.1f}" for row in tables_)
    fly = genes["fly"]["differences"]["structune minus AUGUSTUS"]["windows"]["exon"]
    parasail = 1 / min(
        ratio for pair, ratio in best["times_faster"].items() if pair.startswith("affine than parasail")
    )
    others = ("pairwise SVM", "regression")
    as_good = [name for name in others if _holds_zero(ranking["differences"][f"ramp minus {name}"])]
    assert all(_holds_zero(row["mean_excess_error"]) for row in tables_)
    rows = [
        [
            "Chunking of CoNLL-2000, segment F1, %",
            f"{100 * implicit['f1']:.2f}",
            f"CRFsuite {100 * tuning['crfsuite']['f1']:.2f}",
            f"with one penalty, by grid, {100 * grid['f1']:.2f}: {interval(grid['minus_crfsuite'])}",
            "conll2000.py",
        ],
        [
            "The same training, to the same objective",
            f"{train('structune'):.1f} s",
            f"CRFsuite {train('crfsuite'):.1f} s",
            "two threads, where CRFsuite has one",
            "conll2000.py",
        ],
        [
            f"Base pairs of {rna['ArchiveII']['all']['sequences']} RNAs (ArchiveII), F1",
            f1("pretrained"),
            f"CONTRAfold's parameters {f1('contrafold')}, ViennaRNA {f1('vienna_mea')}",
            f"many are relatives of what it learned from; on {n_new} of other families (Rfam, predicted "
            f"structures) {f1('pretrained', *new)}, ViennaRNA {f1('vienna_mea', *new)}",
            "rna_accuracy.py",
        ],
        [
            "Probabilities of all pairs of 1200 bases",
            f"{long['structune_pairs']:.2f} s",
            f"ViennaRNA {long['vienna_pairs']:.1f} s",
            "",
            "rna_speed.py",
        ],
        [
            "Remote homologues (SABmark), share of matches found",
            q("CRF, MEA"),
            f"MUSCLE {q('MUSCLE 5')}, ProbCons {q('ProbCons')}",
            f"for best alignments alone, without probabilities, parasail is {parasail:.0f} times as fast",
            "alignment_accuracy.py, alignment_speed.py",
        ],
        [
            f"Time of fits that choose a penalty, {len(ratios)} tables, relative",
            "1",
            f"LogisticRegressionCV {median(ratios):.0f}",
            f"{excess} points more errors (two classes, several), within the noise; more on {_listed(worse)}",
            "flat_tables.py",
        ],
        [
            "Genes of 13 microbes, not annotated, F1 by stop codon, %",
            f"{100 * adapted['stop F1']:.1f}",
            f"Prodigal {100 * prodigal['stop F1']:.1f}",
            f"both ends {100 * adapted['gene F1']:.1f}, Prodigal {100 * prodigal['gene F1']:.1f}; "
            f"verified starts {100 * adapted['verified']:.1f}, Prodigal {100 * prodigal['verified']:.1f}; "
            f"{seconds('adapted'):.0f} s a genome, Prodigal {seconds('pyrodigal'):.0f} s; "
            "settings were chosen on these genomes",
            "new_genomes.py",
        ],
        [
            "Exons of the fly, A. thaliana and C. elegans, mean F1, %",
            exons("structune"),
            f"AUGUSTUS, trained on the same genes, {exons('AUGUSTUS')}",
            f"{exons('structune, not annotated')} without any gene of the organism; "
            f"fly alone {interval(fly)}; training takes "
            f"{genes['fly']['structune']['seconds']['training']:.0f} s on one thread, AUGUSTUS less "
            "than one; settings were chosen on windows of these organisms",
            "eukaryotic_genes.py",
        ],
        [
            "Rankings of OHSUMED, mean NDCG",
            ndcg("ramp"),
            f"LambdaMART {ndcg('LambdaMART')}, pairwise SVM {ndcg('pairwise SVM')}",
            f"no difference from {_listed(as_good)}" if as_good else "",
            "ohsumed.py",
        ],
    ]
    for row in rows:
        row[-1] = ", ".join(f"`{script}`" for script in row[-1].split(", "))
    return table(["Measured", "structune", "Others", "Caveat", "Script"], rows).replace("--:", "---")


def _holds_zero(row: dict[str, float]) -> bool:
    return row["low"] <= 0 <= row["high"]


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def main() -> None:
    text = README.read_text()
    pattern = r"(<!-- numbers -->\n).*?(<!-- /numbers -->)"
    text, n = re.subn(pattern, lambda m: f"{m[1]}{numbers()}\n{m[2]}", text, flags=re.DOTALL)
    assert n == 1, "README.md has no place for the numbers"
    README.write_text(text)


if __name__ == "__main__":
    main()
