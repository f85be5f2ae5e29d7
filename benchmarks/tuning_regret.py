"""How far each way to choose the regularization is from the best of them on test data, and what it costs.

    python benchmarks/tuning_regret.py                # 20 minutes on one core; goes on where the results end
    python benchmarks/tuning_regret.py --only NAME    # some sets anew, the others as they are
    python benchmarks/tuning_regret.py --starts       # where the implicit search ends from four starts
    python benchmarks/tuning_regret.py --quick        # three tiny sets, written nowhere

The sets are those of `tuning_sets.py`. Nothing is chosen on test data but by the oracle: one penalty for all
weights of 2^-10 .. 2^6, of the lowest test loss. "grid" has the same values, and holds data out. The peer of
taggers is CRFsuite with one of four usual settings, by the log loss of a fifth of the training sequences,
held out, and at most 100 iterations; that of tables LogisticRegressionCV (10 values, five folds, log loss) or
RidgeCV (21 values, leaves one out). Other structures have none. The elastic net is `l1="auto"`, which
rankings and regression do not have.

The loss is -log p of what is known of a test example by part (token, base, match, gene), in regression the
squared error, of rankings 1 - NDCG@10. Regret is how far it is above the lowest of all methods, relative to
that. Costs are those of `fit`, in fits without tuning: passes over the training data, and seconds of the
processor. Intervals are paired bootstraps over test examples. So that with 95 % those of all sets hold
(Bonferroni), they are stretched by the ratio of normal quantiles: 2000 resamples have no such tails.

"Starts": held-out losses of tight fits at the precisions where the search ends, with a tolerance of 0.001 in
place of 0.003, what it minimises (these losses and the prior of the log precisions), and whether it repeats.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from common import RESULTS, log, parser_of, write
from structune.errors import StructuneError
from structune.learning import GridTuner, ImplicitTuner, LogLoss, TuningProblem, fit_l2, paired_difference
from structune.learning.tuning.implicit import SPREAD
from tuning_sets import QUICK, SETS, Counts, Task, table

NAME = "tuning_regret"
POWERS = tuple(4.0**k for k in range(3, -6, -1))  # from the strongest, whose fits take least
METHODS: dict[str, dict[str, Any]] = {
    "untuned": {"tuning": None},
    "majorize": {"tuning": "majorize"},
    "implicit": {"tuning": "implicit"},
    "elastic net": {"l1": "auto"},
    "grid": {"tuning": GridTuner(POWERS, warm=True), "groups": "single"},
    "auto": {"tuning": "auto"},
}
ALL = (*METHODS, "peer", "oracle")
SHORT = 2.0  # seconds of fits that are timed twice
STARTS = (0.01, 0.1, 1.0, 10.0)
OF_STARTS: dict[str, Callable[[], Task]] = {
    **{
        name: SETS[name]
        for name in ("references, 300", "RNA, S151Rfam", "alignments, SABmark", "genes, E. coli")
    },
    "dna, 300": partial(table, "dna", 300),
}
MEASURES: dict[str, Callable[[Counts], Counts]] = {
    "loss": lambda sums: np.asarray(sums[..., 0] / sums[..., 1]),
    "score": lambda sums: np.asarray(sums[..., 2] / sums[..., 3]),
}


# --- one set ------------------------------------------------------------------------------------------------


def fitted(task: Task, **settings: Any) -> tuple[Any, float]:
    """The model, and seconds of the processor; a short fit is repeated, as the first one loads kernels."""
    seconds = 0.0
    for _ in range(2):
        start = time.process_time()
        model = task.make(**settings).fit(*task.train, **task.options)
        if (seconds := time.process_time() - start) > SHORT:
            break
    return model, seconds


def oracle(task: Task) -> tuple[str, Counts]:
    """One penalty for all weights, the best on the test."""
    model, found = task.make(tuning=None, groups="single", warm_start=True), {}
    for penalty in POWERS:
        model.set_params(penalty=penalty).fit(*task.train, **task.options)
        found[penalty] = task.judge(model)
    best = min(found, key=lambda penalty: float(MEASURES["loss"](found[penalty].sum(0))))
    return f"penalty = {best:.4g}", found[best]


def run(name: str, task: Task) -> dict[str, Any]:
    """All methods on a set."""
    begin = time.process_time()
    rows, counts, left_out = dict[str, dict[str, Any]](), dict[str, Counts](), dict[str, str]()
    for method, settings in METHODS.items():
        try:
            if unknown := set(settings) - set(task.make().get_params()):
                raise StructuneError(f"it has no {', '.join(unknown)}")
            model, seconds = fitted(task, **settings)
        except StructuneError as error:
            left_out[method] = str(error)
            continue
        counts[method] = task.judge(model)
        told = {"groups": len(model.penalty_), "status": model.status_}
        rows[method] = {"passes": model.passes_, "seconds": seconds, **told}
    for method, search in (("peer", task.peer), ("oracle", partial(oracle, task))):
        if search is not None:
            start = time.process_time()
            chosen, counts[method] = search()
            rows[method] = {"seconds": time.process_time() - start, "chosen": chosen}
    untuned = rows["untuned"]
    for method, row in rows.items():
        row |= {what: float(of(counts[method].sum(0))) for what, of in MEASURES.items()}
        row["cost"] = {what: row[what] / untuned[what] for what in ("passes", "seconds") if what in row}
        row["minus untuned"] = {
            what: vars(paired_difference(counts["untuned"], counts[method], of))
            for what, of in MEASURES.items()
        }
    lowest = min(row["loss"] for row in rows.values())
    for row in rows.values():
        row["regret"] = row["loss"] / lowest - 1
    told = ", ".join(
        f"{method} {100 * row['regret']:.1f} % {row['score']:.4f} ({row['cost'].get('passes', np.nan):.1f})"
        for method, row in rows.items()
    )
    log(f"{name}, {task.sizes[0]} train, {task.sizes[1]} test; regret, {task.score}, passes: {told}")
    for method, reason in left_out.items():
        log(f"{name}: {method} is left out: {reason}")
    about = {"n_train": task.sizes[0], "n_test": task.sizes[1], "score": task.score}
    about["seconds of all"] = time.process_time() - begin
    return {**about, "methods": rows, "left out": left_out}


# --- what all sets say --------------------------------------------------------------------------------------


def corrected(row: dict[str, float], n_sets: int) -> tuple[float, float]:
    """The interval, such that all of so many hold with 95 %."""
    factor = norm.ppf(0.025 / n_sets) / norm.ppf(0.025)
    low, high = (row["value"] + factor * (row[end] - row["value"]) for end in ("low", "high"))
    return float(low), float(high)


def summary(sets: dict[str, Any]) -> dict[str, Any]:
    """Regrets and costs of each method, and the sets where it is behind untuned, or ahead, beyond noise."""
    found = {}
    for method in ALL:
        rows = {name: of["methods"][method] for name, of in sets.items() if method in of["methods"]}
        if not rows:
            continue
        regrets = {name: row["regret"] for name, row in rows.items()}
        auto = [sets[name]["methods"].get("auto", {}).get("regret", np.nan) for name in rows]
        sides: dict[str, Any] = {"behind": {}, "ahead": {}}
        for what, sign in (("loss", 1), ("score", -1)):
            ends = {name: corrected(row["minus untuned"][what], len(sets)) for name, row in rows.items()}
            above, below = (
                [n for n, (low, _) in ends.items() if low > 0],
                [n for n, (_, high) in ends.items() if high < 0],
            )
            sides["behind"][what], sides["ahead"][what] = (above, below)[::sign]
        costs = {
            what: [row["cost"][what] for row in rows.values() if what in row["cost"]]
            for what in ("passes", "seconds")
        }
        found[method] = {
            "sets": len(rows),
            "regret": {
                "mean": float(np.mean(list(regrets.values()))),
                "median": float(np.median(list(regrets.values()))),
                "most": max(regrets.values()),
                "most on": max(regrets, key=lambda name: regrets[name]),
                "mean of auto": float(np.mean(auto)),
            },
            "cost": {
                what: {"median": float(np.median(of)), "most": max(of)} for what, of in costs.items() if of
            },
            **sides,
        }
    return found


def sentence(found: dict[str, Any]) -> str:
    """What is to be shown of the default."""
    if "auto" not in found:
        return "auto has not run."
    auto = found["auto"]

    def told(method: str) -> str:
        row, of = found[method], found[method]["regret"]
        elsewhere = f" (on {row['sets']} of them; auto there {100 * of['mean of auto']:.1f} %)"
        return f"{method} {100 * of['mean']:.1f} %" + (elsewhere if row["sets"] < auto["sets"] else "")

    means = ", ".join(map(told, sorted(found, key=lambda method: found[method]["regret"]["mean"])))
    loss, score = ("; ".join(auto["behind"][what]) or "no set" for what in MEASURES)
    cost = auto["cost"]["passes"]
    return (
        f"Mean regret on {auto['sets']} sets: {means}. Beyond noise auto is behind untuned on "
        f"{loss} by loss, on {score} by score. "
        f"It costs {cost['median']:.1f} fits in the median and {cost['most']:.1f} at most."
    )


def plot(sets: dict[str, Any], path: Path) -> None:
    from structune.plots.figure import COLORS, LABEL_SIZE, MARKERS, finish, new_figure, tidy

    figure = new_figure(path, 8.0, 1.2 + 0.2 * len(sets))
    axes, names = figure.subplots(), list(sets)[::-1]
    for color, marker, method in zip((*COLORS, "0.5"), MARKERS + "*", ALL, strict=True):
        own = [(100 * sets[name]["methods"][method]["regret"], row) for row, name in enumerate(names)
               if method in sets[name]["methods"]]  # fmt: skip
        face = "none" if method in ("auto", "peer", "oracle") else color
        size, order = (75, 4) if method == "auto" else (20, 3)  # around what it is the same as
        axes.scatter(*np.array(own).reshape(-1, 2).T, size, facecolors=face, edgecolors=color, marker=marker,
                     label=method, zorder=order, clip_on=False)  # fmt: skip
    axes.set_xscale("symlog", linthresh=1.0, linscale=0.6)
    axes.set_xticks([0, 1, 3, 10, 30, 100, 300], ["0", "1", "3", "10", "30", "100", "300"])
    axes.set_yticks(range(len(names)), names, fontsize=LABEL_SIZE)
    axes.set(xlabel="test loss above the lowest of all methods, %", ylim=(-0.7, len(names) - 0.3))
    axes.set_xlim(left=0)
    tidy(axes)
    figure.legend(loc="outside lower center", ncols=len(ALL), frameon=False, fontsize=LABEL_SIZE + 1)
    finish(figure, path)


# --- starts -------------------------------------------------------------------------------------------------


def starts(name: str, task: Task) -> dict[str, Any]:
    """Held-out losses of one set after searches from all starts, and whether two from the same are equal."""
    encoded = task.make()._encode_training(*task.train)  # those that can be learned from
    n = len(encoded.shard)
    halves = [np.sort(half) for half in np.array_split(np.random.default_rng(0).permutation(n), 2)]
    options: dict[str, Any] = {"cv": [(halves[0], halves[1]), (halves[1], halves[0])]}
    if name == "dna, 300":
        options["groups"] = [f"block {column // 30}" for column in range(task.train[0].shape[1])]
    models = [
        task.make(tuning=ImplicitTuner(start=start, tolerance=0.001), **options).fit(*task.train)
        for start in (*STARTS, STARTS[2])
    ]
    structure, model = encoded.structure, models[0]
    groups, origin = model._weight_groups(structure), model._origin(structure)
    problem = TuningProblem.build(
        structure, LogLoss(), encoded.shard, groups, cv=options["cv"], origin=origin
    )
    usual = model._precisions(groups)
    losses, minimised = [], []
    for model in models[: len(STARTS)]:
        precision = groups.spread(model.penalty_)
        fits = [fit_l2(split.train, precision, tolerance=1e-6) for split in problem.splits]
        losses.append(
            sum(split.heldout.value(fit.w) for split, fit in zip(problem.splits, fits, strict=True))
        )
        away = np.log(model.penalty_ / usual) / SPREAD
        minimised.append(losses[-1] + 0.5 * float(away @ away))
    again = models[2], models[-1]
    row = {
        "starts": STARTS,
        "heldout losses": losses,
        "spread": max(losses) / min(losses) - 1,
        "spread of what is minimised": max(minimised) / min(minimised) - 1,
        "passes": [model.passes_ for model in models[: len(STARTS)]],
        "same bits": all(
            np.array_equal(*(getattr(one, what) for one in again)) for what in ("coef_", "penalty_")
        ),
    }
    log(f"{name}: {row}")
    return row


# --- the run ------------------------------------------------------------------------------------------------


def main() -> None:
    parser = parser_of(__doc__ or "")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[])
    parser.add_argument("--starts", action="store_true")
    arguments = parser.parse_args()
    path, quick = RESULTS / f"{NAME}.json", arguments.quick
    result = json.loads(path.read_text()) if path.exists() and not quick else {}
    result.pop("machine", None)  # that of the last writing is told
    work, what = (starts, "starts") if arguments.starts else (run, "sets")
    known = (QUICK if quick else SETS) if what == "sets" else OF_STARTS
    names = arguments.only or list(known)[-1 if quick and arguments.starts else 0 :]
    if unknown := set(arguments.only) - set(known):
        parser.error(f"found the sets {sorted(unknown)}, expected some of {list(known)}")
    rows = {name: row for name, row in result.get(what, {}).items() if name not in arguments.only}
    warnings.simplefilter("ignore")  # of fits that end early, and weights that are all 0
    with threadpool_limits(1):
        for name in names:
            if name in rows:
                continue
            rows[name] = work(name, known[name]())
            rows = {each: rows[each] for each in known if each in rows}
            result |= {what: rows}
            if not quick:
                write(NAME, result, "python-crfsuite", "scikit-learn")
    if "sets" in result:
        found = summary(result["sets"])
        result |= {"summary": found, "sentence": sentence(found)}
        print(result["sentence"])
    if not quick and "sets" in result:
        write(NAME, result, "python-crfsuite", "scikit-learn")
        plot(result["sets"], path.with_suffix(".png"))
        print(f"written to {path}")


if __name__ == "__main__":
    main()
