"""RNA on the command line: help texts and rules of the commands, and how they read, train and evaluate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structune.cli.task import Examples, OwnCommand, Rule, Task
from structune.cli.terminal import counted_from_one
from structune.errors import DataError
from structune.files.text import plural
from structune.rna import options

if TYPE_CHECKING:
    from structune.files.shards import ShardFolder, ShardWriter
    from structune.rna.examples import Example
    from structune.rna.folder import RNAFolder
    from structune.rna.scores import FoldingScores

_MOST_BASES, _MOST_SEQUENCES = 1 << 20, 1 << 14  # that are in memory at a time, or one sequence
_INPUTS = (
    "Files of sequences (FASTA, dot-bracket, CT, BPSEQ, Stockholm, .seq, or one sequence per line; also "
    "compressed), folders of such files, or - for standard input, the default. Write two strands as A&B."
)


# --- commands ---------------------------------------------------------------------------------------------


def _energy(*given: Any) -> int:
    """Run the command, which is imported then."""
    from structune.rna import energy_commands

    return energy_commands.energy(*given)


def _run(name: str, *given: Any) -> int:
    """Run a command, which is imported then."""
    from structune.rna import fold_commands

    return int(getattr(fold_commands, name)(*given))


_SEVERAL = ("--samples", "--nbest", "--within")
_OF_ONE = ("--method viterbi", "--method centroid", *_SEVERAL)
_FOLD = OwnCommand(
    about=(
        "Fold RNA sequences.",
        "Structures are written in the order of the sequences, as soon as each is known, so the input may be "
        "arbitrarily long. Bases are numbered from 1. With --nbest and --within the name of each structure "
        "is followed by its rank and probability, with --samples by its number.",
        "After an invalid record (exit code 2) or Ctrl-C (exit code 130), all results before it have been "
        "written.",
    ),
    inputs=_INPUTS,
    options=(options.Source, options.Reading, options.Shape, options.Known, options.Wanted, options.Writing),
    work=partial(_run, "fold"),
    rules=(
        Rule("--constraints", forbids=("--skip-bad", "--input-format")),
        Rule(
            "--circular", forbids=("--max-span", "--duplex", "--window", "--no-lonely-pairs", "--pseudoknots")
        ),
        Rule("--contrafold", forbids=("--model",)),
        Rule("--samples", forbids=("--nbest", "--within")),
        Rule("--method", forbids=_SEVERAL),
        Rule("--gamma", forbids=_OF_ONE, because="it applies to --method mea, or without --method"),
        Rule("--no-lonely-pairs", forbids=("--pseudoknots", *_OF_ONE), because="it applies to --method mea"),
        Rule("--pseudoknots", forbids=_OF_ONE, because="it applies to --method mea"),
        Rule("--threshold", needs=("--method centroid",)),
        Rule("--window", needs=("--format bases",)),
        Rule("--score log-odds", forbids=("--shape", "--commands"), because="it is of the model alone"),
        Rule("--temperature", needs=("--format vienna",), forbids=("--score log-odds",)),
        Rule("--score", needs=("--format vienna",)),
        Rule("--seed", needs=("--samples",)),
        Rule("--shape-method", needs=("--shape",)),
    ),
)
_CONSENSUS = OwnCommand(
    about=(
        "Predict the consensus structure of RNA alignments.",
        "The structure follows from the mean pair probabilities of the aligned sequences and from "
        "covariation. The alignment is written in Stockholm format with a line SS_cons.",
    ),
    inputs="Alignments: Stockholm, Clustal, or FASTA with gaps, or - for standard input, the default.",
    options=(options.Source, options.Consensus),
    work=partial(_run, "consensus"),
    rules=(Rule("--contrafold", forbids=("--model",)),),
)
_SCORE = OwnCommand(
    about=(
        "Score known RNA structures.",
        "Writes a table with one row per structure: its log probability, its log odds against the most "
        "probable structure, its expected PPV and sensitivity, and the expected number of pairs in which it "
        "differs from a structure drawn from the model.",
    ),
    inputs="Files of sequences with structures, or - for standard input, the default.",
    options=(options.Source, options.Reading, options.Shape, options.Output),
    work=partial(_run, "score"),
    rules=(Rule("--contrafold", forbids=("--model",)), Rule("--circular", forbids=("--max-span",))),
)
_ENERGY = OwnCommand(
    about=(
        "Compute the free energies of known RNA structures.",
        "Energies are in kcal/mol, by the nearest-neighbor parameters of Turner 2004 or of a parameter file, "
        "as RNAeval computes them. Write two strands as A&B. Structures with pseudoknots or impossible "
        "loops have no energy; they are listed at the end.",
    ),
    inputs="Files of sequences with structures, or - for standard input, the default.",
    options=(options.Reading, options.Energy),
    work=_energy,
)


class RNATask(Task):
    """Secondary structures of RNA."""

    estimator = "structune.rna.folder:RNAFolder"
    learns = "to fold RNA"
    about = (
        "Pairs in pseudoknots are ignored. Skipped sequences are listed. The margin and ramp losses use 1 - "
        "recall of base pairs as cost. When related sequences are split between training and held-out data, "
        "the held-out loss is too low and the tuned penalties are too weak: use tune rna --families."
    )
    files = (
        "Files of sequences with structures (dot-bracket, CT, BPSEQ or Stockholm; also compressed), or "
        "folders of such files."
    )
    parts = "bases"
    reading_options = options.Reading
    learning_options = options.Learning
    training_options = options.Training
    only = {"families": ("tune", "shard")}  # noqa: RUF012
    scoring_options = options.Scoring
    parameters = ("loss", "groups")
    tuning = ("cv", "random_state")
    space = ("features", "outside", "min_hairpin", "noncanonical")
    own = {"fold": _FOLD, "consensus": _CONSENSUS, "score": _SCORE, "energy": _ENERGY}  # noqa: RUF012
    evaluates_others = (
        ", pretrained for the included model, or a file with the structures that another program predicted"
    )
    evaluates = (
        "Prints sensitivity (the share of the known pairs that are found), PPV (the share of the predicted "
        "pairs that are correct) and F1. Pooled values count the pairs of all sequences together; mean "
        "values average over sequences. With slip 1 a pair also counts as correct if one of its bases is off "
        "by one. The predictions are those of fold, or those of the file. Without --pseudoknots, fold "
        "predicts no pseudoknots, and known pairs in pseudoknots count as missed."
    )
    examples = (
        "structune train rna train.dbn more/ --model rna.structune --penalty 0.5 --test test.dbn",
        "structune train rna mine.dbn --model mine.structune --center pretrained --penalty 10",
        "structune tune rna train.dbn --model rna.structune --families families.tsv --plot tuning.png",
        "structune shard rna train.dbn more/ shards/ --families families.tsv",
        "structune evaluate rna pretrained test.dbn --curve --plot curve.png",
        "structune fold sequences.fa > structures.dbn",
        "structune predict rna.structune sequences.fa > structures.dbn",
        "structune fold tRNA.fa --format json --plot tRNA.svg --dot-plot tRNA-dots.png",
        "structune fold probed.fa --shape reactivities.txt --nbest 5",
        "structune fold genome.fa --max-span 300 --format bases --window 8",
        "structune consensus family.sto > consensus.sto",
        "structune score known.dbn > scores.tsv",
        "structune energy known.dbn --loops --temperature 25",
    )

    def prepare(self, model: RNAFolder, learning: options.Learning) -> None:
        if not isinstance(learning, options.Training) or learning.center is None:
            return
        model.center = options.Source(learning.center).open()
        model.gamma, model.decoding = model.center.gamma, model.center.decoding
        if model.center.rna_.feature_set == "extended":
            model.features = "extended"

    def read(self, files: Sequence[str], learning: options.Learning, model: RNAFolder) -> Examples:
        from structune.cli.terminal import names_table, print_tables
        from structune.rna.examples import read_families, read_with_structures
        from structune.rna.formats.brackets import partners
        from structune.rna.inputs import OutsideSpaceWarning, fit_into_space
        from structune.rna.structure.rna import RNA

        examples = list(read_with_structures(files, learning.input_format))
        groups = None if learning.families is None else read_families(learning.families)(examples)
        sequences = [each.record.sequence for each in examples]
        structures = [each.structure for each in examples]
        # what `fit` will leave out, by name
        rna, names = RNA(model.min_hairpin, model.noncanonical, model.features), [x.called for x in examples]
        found = fit_into_space(rna, sequences, structures, model.outside, names)
        n_bases = sum(example.record.n_bases for example in examples)
        n_pairs = sum(int((partners(structure) >= 0).sum()) // 2 for structure in structures)
        rows = [
            (
                "data",
                f"{plural(len(examples), 'sequence')}, {plural(n_bases, 'base')}, {plural(n_pairs, 'pair')}",
            )
        ]
        if found.skipped:
            title = (
                f"Skipped {plural(len(found.skipped), 'sequence')} whose structures the model cannot produce"
            )
            skipped = [(examples[s].record.name, counted_from_one(reason)) for s, reason in found.skipped]
            print_tables(names_table(title, "sequence", "reason", skipped))
            rows.append(("skipped", plural(len(skipped), "sequence")))
        for name, dropped in (("pseudoknots", found.unknotted), ("trimmed", found.trimmed)):
            if dropped:
                rows.append(
                    (
                        name,
                        f"removed {plural(sum(dropped.values()), 'pair')} in "
                        f"{plural(len(dropped), 'sequence')}",
                    )
                )
        by_family, heard = {"groups": groups}, (OutsideSpaceWarning,)
        return Examples((sequences, structures), rows, options=by_family, heard=heard)

    def shard(
        self,
        files: Sequence[str],
        learning: options.Learning,
        model: RNAFolder,
        writer: ShardWriter,
        quiet: bool,
    ) -> tuple[ShardFolder, list[tuple[str, str]]]:
        """Read sequences block by block. With --families, a family is held out as a whole."""
        from structune.cli.terminal import Progress
        from structune.rna.examples import read_families, read_with_structures
        from structune.running.memory import batches

        known = None if learning.families is None else read_families(learning.families)
        size = attrgetter("record.n_bases")

        def blocks() -> Iterator[tuple[Any, ...]]:
            examples = read_with_structures(files, learning.input_format)
            with Progress(not quiet, stage="shards", unit="sequences") as progress:
                for block in batches(examples, size, _MOST_BASES, _MOST_SEQUENCES):
                    groups = None if known is None else known(block)
                    named = [example.called for example in block]
                    structures = [example.structure for example in block]
                    yield [example.record.sequence for example in block], structures, None, groups, named
                    progress.advance(len(block))

        written = model.write_blocks(blocks, writer)
        return written, [
            ("data", f"{plural(len(written), 'sequence')}, {plural(sum(written.n_parts), 'base')}")
        ]

    def open(self, path: str, scoring: Any) -> RNAFolder | list[Example]:
        """The model, or the predictions of another program."""
        from structune.files.models import kind_in_file
        from structune.rna.examples import read_with_structures

        is_named = path == options.PRETRAINED or path.endswith(".structune") or not Path(path).exists()
        if is_named or not isinstance(scoring, options.Scoring) or kind_in_file(path) is not None:
            return options.Source(path).open()
        asked = {
            "--gamma": scoring.gamma is not None,
            "--curve": scoring.curve,
            "--plot": scoring.plot is not None,
            "--pseudoknots": scoring.pseudoknots,
        }
        for name in filter(asked.get, asked):
            raise DataError(f"{name} needs a model, but {path} is not a model file")
        try:
            return list(read_with_structures([path]))
        except DataError as error:
            told = f"{path} is not a model file, and cannot be read as predicted structures"
            raise DataError(f"{told}: {error}") from None

    def read_known(
        self, files: Sequence[str], reading: options.Reading, model: RNAFolder, header: Any
    ) -> Iterable[Example]:
        from structune.rna.examples import read_with_structures

        return read_with_structures(files, reading.input_format)

    def score(
        self, model: RNAFolder | list[Example], known: Iterable[Example], scoring: options.Scoring
    ) -> FoldingScores:
        from structune.rna.plots import plot_sensitivity_ppv
        from structune.rna.scores import compare, evaluate

        if isinstance(model, list):
            return compare(model, list(known))
        model = model.set_params(n_jobs=1)  # threads share the sequences
        with_curve = scoring.curve or scoring.plot is not None
        scores = evaluate(
            model,
            list(known),
            scoring.gamma,
            with_curve,
            scoring.jobs,
            scoring.quiet,
            scoring.pseudoknots,
        )
        if scoring.plot is not None and scores.curve is not None:
            plot_sensitivity_ppv({"model": (scores.curve.sensitivity, scores.curve.ppv)}, scoring.plot)
        return scores

    def warm(self) -> None:
        """Learn as commands do if nothing else is asked for, and fold in all their ways."""
        from structune.rna.folder import RNAFolder

        sequences = ["GGGAAAACCC", "GGCGAAAGCCA", "GGGAAAUCCC", "GGAGCGAAAGCAGCGAAAGCACC", "GGCAGAAAUGCC"]
        structures = ["(((....)))", "(((....))).", "(((....)))", "((.((....)).((....)).))", "((.(....).))"]
        for tuning in (None, "implicit"):
            RNAFolder(tuning=tuning, n_jobs=1).fit(sequences, structures)
        folder, constraints = RNAFolder.pretrained().set_params(n_jobs=1), ["((......))", *[None] * 4]
        folder.predict(sequences, constraints=constraints)
        folder.predict_viterbi(sequences)
        folder.predict_centroid(sequences)
        folder.predict_nbest(sequences, 2)
        folder.sample(sequences, 2)
        folder.pair_probabilities(sequences[0])
        folder.log_partition(sequences)


TASK = RNATask()
