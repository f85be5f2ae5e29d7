"""What is fuzzed, all loaders of models, data, shards and checkpoints, and what must hold of mutated input.

An input is used, or refused by an error that is documented. A model that loads predicts, or refuses to: it
does not crash, hang, take memory without bound, run code or write files.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sys
import tempfile
import threading
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np

import simulated_genes
import simulated_orfs
from mutations import (
    mutate_bytes,
    mutate_container,
    mutate_folder,
    mutate_model,
    pack_folder,
    packed,
    parsed,
    unpack_folder,
)
from shard_kinds import EXAMPLES
from structune import (
    Classifier,
    GeneFinder,
    MetagenomeFinder,
    MultitaskEstimator,
    ProkaryoticGeneFinder,
    Protein,
    Ranker,
    Regressor,
    RNAFolder,
    SegmentTagger,
    SequenceAligner,
    SequenceTagger,
    genes,
    load,
    rna,
)
from structune.alignment import read_protein_alignments, read_proteins
from structune.errors import DataError, ModelFileError
from structune.files.shards import open_shards
from structune.flat import read_svmlight_blocks
from structune.genes import AnnotatedSequence, Transcript
from structune.genes.formats.writers import genbank_text
from structune.learning import ValidationConstraints
from structune.ranking import read_letor, read_letor_blocks
from structune.ranking.task import TASK as RANKING
from structune.running import Run
from structune.running.checkpoints import Checkpoint
from structune.tagging import read_conll
from structune.tagging.task import TASK

WORDS = [[["w=the", "bias"], ["w=dog", "bias"]], [["w=a"], ["w=cat"], ["w=new", "x"]]]
TAGS = [["DET", "NOUN"], ["DET", "NOUN", "X"]]
SEGMENTS = [["O", "B-x"], ["O", "B-y", "I-y"]]
RNAS, FOLDS = ["GGGAAAACCC", "GGCGAAAGCC", "AAAAAAAA"], ["(((....)))", "(((....)))", "........"]
PAIRS = [("ACDEFGHIK", "ACDFGHIK"), ("MKV", "MKLV")]
ROWS = [("ACDEFGHIK", "ACD-FGHIK"), ("MK-V", "MKLV")]
TABLE = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, -1.0], [3.0, 0.0]])
EXONS = (Transcript("c", "+", ((5, 12), (21, 26)), "t", "g"),)
GENES = [AnnotatedSequence("c", "CCTATATGGCAGGTAAGTCAGGCTAACCT", EXONS)]
TREE = {"root": {"inner": ["a", "b"], "c": None}}


@dataclass(frozen=True)
class Target:
    """A loader.

    Attributes
    ----------
    name : str
    seeds : function without arguments
        Valid inputs, as bytes.
    mutate : function of (bytes, random.Random)
    use : function of a path
        Loads and uses, or raises a ValueError.
    share : float
        Of the cases of a long run, in proportion to the others; less where a case takes long.
    """

    name: str
    seeds: object
    mutate: object
    use: object
    share: float = 1.0

    def case(self, k, seed=0):
        """Mutated input number k, as ``benchmarks/fuzz.py --seed SEED --case NAME:K`` makes it, too."""
        random = Random(f"{seed}:{self.name}:{k}")
        return self.mutate(random.choice(self.seeds()), random)


class UndocumentedError(Exception):
    """An error or event that loading does not promise."""


def outcome(target, data, path):
    """What becomes of an input: "used", or the documented error that refuses it; others are raised."""
    path.write_bytes(data)
    with warnings.catch_warnings(), np.errstate(all="ignore"), watched():
        warnings.simplefilter("ignore")
        try:
            target.use(path)
        except ValueError as error:
            _check_documented(error, path)
            return type(error).__name__
    return "used"


def _check_documented(error, path):
    """Refuse plain errors of the parts that a loader is made of: they do not name the file."""
    if "MemoryError" in str(error):
        raise UndocumentedError(f"memory ran out: {error}")
    if type(error) is ValueError or isinstance(error, UnicodeError):
        raise UndocumentedError(f"{path}: {type(error).__name__}: {error}") from error
    if path.name not in str(error):
        raise UndocumentedError(f"found an error that does not name {path.name}: {error}") from error


# --- events -----------------------------------------------------------------------------------------------

_FORBIDDEN = (
    *("exec", "compile", "import", "marshal.", "pickle.", "code.", "os.", "shutil.", "subprocess."),
    *("socket.", "ctypes.", "webbrowser.", "urllib.", "ftplib.", "sys.settrace", "sys.unraisablehook"),
)
_ALLOWED = ("os.listdir", "os.scandir")
_watching = threading.local()  # what other threads do is not the loader's: Dask's look for lost schedulers


@contextmanager
def watched(on=True):
    """Code that is run and files that are written while this lasts are errors."""
    _hook()
    before, _watching.on = is_watching(), on
    try:
        yield
    finally:
        _watching.on = before


def is_watching():
    return getattr(_watching, "on", False)


@cache
def _hook():
    """Hooks cannot be taken away: there is one, which looks where it is told to."""
    sys.addaudithook(_audit)


def _audit(event, args):
    if not is_watching():
        return
    writes = event == "open" and isinstance(args[1], str) and not set(args[1]) <= set("rbtU")
    forbidden = writes or (event.startswith(_FORBIDDEN) and event not in _ALLOWED)
    if forbidden and not _is_numba():
        raise UndocumentedError(f"found the event {event} {args!r:.200} while loading")


def _is_numba():
    """Whether numba compiles a kernel for arrays of new types, or reads its machine code."""
    frame = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__") != "numba.core.dispatcher":
        frame = frame.f_back
    return frame is not None


# --- models -----------------------------------------------------------------------------------------------


@cache
def _saved(name):
    """Files of the models of a kind, as bytes."""
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that end early, and genes that are left out
        for model in _FITTED[name]():
            path = Path(folder) / "model"
            model.save(path, _EXTRA.get(name))
            found.append(packed(*_settled(path.read_bytes())))
    return found


def _settled(data):
    """Header and arrays of a model file, without the seconds that its fit took."""
    header, arrays = parsed(data)
    for part in (header, header.get("estimator", {})):
        part["history"] = [{**record, "seconds": 0.0} for record in part.get("history", [])]
    return json.dumps(header), arrays


def _marked(residues):
    return Protein(residues, np.arange(2.0 * len(residues)).reshape(-1, 2) / 10, "H" * len(residues))


_MARKED = [tuple(_marked(each) for each in pair) for pair in PAIRS]
_CONTIGS = simulated_genes.genome(0)[:2]
_ONE, _SOON = {"n_jobs": 1}, {"n_jobs": 1, "tuning": None, "run": Run(max_iterations=2)}
_BARE = {**_ONE, "tuning": None}
_EXTRA = {
    "tagging": {"columns": ["w", "y"], "templates": ["w[0]", "w[-1]|w[0]"]},
    "ranking": {"features": [1, 5], "missing": 0.0},
}
_FITTED = {  # of each kind some models
    "tagging": lambda: [
        SequenceTagger(**_BARE).fit(WORDS, TAGS),
        SequenceTagger(**_ONE, tuning="majorize").fit(WORDS, TAGS),
        SequenceTagger(**_BARE, forbidden=[("NOUN", "DET"), (None, "NOUN")]).fit(WORDS, TAGS),
        SequenceTagger(**_ONE, loss="margin").fit(WORDS, TAGS),
    ],
    "segments": lambda: [
        SegmentTagger(**_BARE).fit(WORDS, SEGMENTS),
        SegmentTagger(**_ONE, gazetteers={"places": ["cat new", "dog"]}, loss="margin").fit(WORDS, SEGMENTS),
        SegmentTagger(**_BARE, boundary=False).fit(WORDS, SEGMENTS),
    ],
    "classifier": lambda: [
        Classifier(**_ONE).fit(TABLE, [0, 1, 2, 1]),
        Classifier(**_ONE).fit(TABLE, ["a", "b", "a", "b"]),
        Classifier(**_ONE, fit_intercept=False, loss="margin", penalty=0.1).fit(TABLE, [0, 1, 2, 1]),
    ],
    "regressor": lambda: [Regressor(**_ONE).fit(TABLE, [0.0, 1.0, 2.0, 5.0])],
    "ranking": lambda: [
        Ranker(**_BARE, penalty=0.1, k=2, convention="burges").fit(TABLE, [0, 1, 0, 2], [1, 1, 2, 2])
    ],
    "rna": lambda: [
        RNAFolder(**_BARE).fit(RNAS, FOLDS),
        RNAFolder(**_ONE, min_hairpin=0, noncanonical=True, loss="margin").fit(RNAS, FOLDS),
        RNAFolder(**_BARE, features="extended").fit(RNAS, FOLDS),
    ],
    "alignment": lambda: [
        SequenceAligner(**_BARE, features="affine", overhangs="both").fit(PAIRS, ROWS),
        SequenceAligner(**_BARE, features="affine", overhangs="both").fit(_MARKED, ROWS),
        SequenceAligner(**_BARE).fit(PAIRS, ROWS),
        SequenceAligner.from_matrix("BLOSUM62"),
    ],
    "genes": lambda: [
        GeneFinder(**_ONE, penalty=0.1, strands="forward").fit(_CONTIGS),
        GeneFinder(**_ONE, penalty=0.1, features="paper").fit(
            _CONTIGS, tracks=[np.ones((len(each.sequence), 1)) for each in _CONTIGS]
        ),
    ],
    "prokaryotic-genes": lambda: [ProkaryoticGeneFinder(**_SOON).fit(simulated_orfs.genome(0)[:1])],
    "metagenomes": lambda: [MetagenomeFinder(**_SOON).fit(simulated_orfs.genome(0, 3))],
    "tree": lambda: [
        MultitaskEstimator(SequenceTagger(**_ONE), TREE, **_ONE, gammas=[0.5], factors=[1.0]).fit(
            {"a": (WORDS, TAGS), "b": (WORDS[:1], TAGS[:1])}
        ),
        MultitaskEstimator(RNAFolder(**_ONE), TREE, **_ONE, gammas=[0.5], factors=[1.0]).fit(
            {"a": (RNAS, FOLDS)}
        ),
    ],
}


def _use_model(path):
    """Load and predict; a loader raises `ModelFileError` and nothing else."""
    model = load(path)
    refused = 0
    for use in _USES[type(model)]:
        try:
            use(model, path)
        except ValueError as error:  # a prediction may be refused
            if "MemoryError" in str(error):
                raise UndocumentedError(str(error)) from error
            refused += 1
    if refused == len(_USES[type(model)]):
        raise ModelFileError(f"{path}: loads, and all its predictions are refused")


repr(Regressor(penalty=2.0))  # imports what scikit-learn prints parameters with, before imports are watched
_TRACKS = [np.ones((29, 1))]
_ORFS = ["ACC" + "ATG" + "GCA" * 40 + "TAA" + "CCT" * 10]
_USES = {
    SequenceTagger: (
        lambda m, _: m.predict(WORDS),
        lambda m, _: m.predict([[{"w=the": 0.5}, {"other": 2.0}]]),
        lambda m, _: m.predict_marginals(WORDS),
        lambda m, _: m.predict_nbest(WORDS, 2),
        lambda _, path: TASK.open(path, None),
    ),
    SegmentTagger: (
        lambda m, _: m.predict(WORDS),
        lambda m, _: m.predict_segments([[["w=new", "x"]] * 4]),
        lambda m, _: m.predict_marginals(WORDS),
        lambda m, _: m.predict_nbest(WORDS, 2),
        lambda m, _: m.segment_probability(WORDS, 0, 0, 2, m.segment_types_[0]),
    ),
    Classifier: (
        lambda m, _: m.predict(np.ones((2, m.n_features_in_))),
        lambda m, _: hasattr(m, "predict_proba") and m.predict_proba(np.ones((2, m.n_features_in_))),
    ),
    Regressor: (lambda m, _: m.predict(np.ones((2, m.n_features_in_))),),
    Ranker: (
        lambda m, _: m.rank(np.ones((2, m.n_features_in_)), [0, 0]),
        lambda m, _: m.score(np.ones((2, m.n_features_in_)), [0, 1], [0, 0]),
        lambda _, path: RANKING.open(path, None),
    ),
    RNAFolder: (
        lambda m, _: m.predict(RNAS),
        lambda m, _: m.predict_viterbi(RNAS),
        lambda m, _: m.predict_nbest(RNAS[:1], 2),
        lambda m, _: m.pair_probabilities(RNAS[0]),
        lambda m, _: m.sample(RNAS[:1], 2),
    ),
    SequenceAligner: (
        lambda m, _: m.predict(PAIRS),
        lambda m, _: m.predict_confidence(PAIRS[:1]),
        lambda m, _: m.predict(_MARKED[:1]),
    ),
    GeneFinder: (
        lambda m, _: m.predict([GENES[0].sequence]),
        lambda m, _: m.predict([GENES[0].sequence], tracks=_TRACKS),
    ),
    ProkaryoticGeneFinder: (lambda m, _: m.predict(_ORFS),),
    MetagenomeFinder: (lambda m, _: m.predict(_ORFS),),
    MultitaskEstimator: (
        lambda m, _: m.predict("a", WORDS),
        lambda m, _: m.predict("a", RNAS),
        lambda m, _: [m.model(node) for node in m.tree_.nodes],
        lambda m, _: repr(m.tree_),
    ),
}


def _any_mutation(data, random):
    """Most mutations of model files get past the checksum, and some past safetensors only."""
    mutate = random.choice((mutate_model,) * 8 + (mutate_container, mutate_bytes))
    return mutate(data, random)


# --- shards -----------------------------------------------------------------------------------------------


@cache
def _folder_of(word):
    """A folder of examples of a kind."""
    with tempfile.TemporaryDirectory() as folder:
        EXAMPLES[word].write(Path(folder) / "f", n_folds=2)
        files = {path.name: path.read_bytes() for path in sorted((Path(folder) / "f").iterdir())}
    files["structure.structune"] = packed(*_settled(files["structure.structune"]))
    return [pack_folder(files)]


def _use_folder(kind):
    """A use that opens a folder of shards and learns from it."""

    def use(path):
        folder = path.with_name(f"{path.name}-folder")
        with watched(False):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for name, data in unpack_folder(path.read_bytes()).items():
                (folder / name).write_bytes(data)
        opened = open_shards(folder)
        _ = opened.shards
        for options in kind.with_losses():
            try:
                type(opened.model)(n_jobs=1, run=Run(max_iterations=2), tuning=None, **options).fit_shards(
                    folder
                )
            except ValueError as error:  # a fit may be refused, but not by a plain error
                if type(error) is ValueError or "MemoryError" in str(error):
                    raise UndocumentedError(str(error)) from error

    return use


# --- checkpoints ------------------------------------------------------------------------------------------


class _Unwritten(Checkpoint):
    """Goes on from its file, and leaves it as it is."""

    def write(self):
        pass

    def remove(self):
        pass


def _short(checkpoint):
    """A run that ends soon."""
    return Run(checkpoint=checkpoint, max_iterations=3)


def _tagged(**settings):
    SequenceTagger(**{**_BARE, **settings}).fit(WORDS, TAGS)


def _contradicted(**settings):
    """Constraints that take more than a round."""
    SequenceTagger(**_ONE, **settings).fit([[["a"]]] * 6, [["X"], ["X"], ["Y"]] * 2)


def _classified(**settings):
    Classifier(n_jobs=1, **settings).fit(TABLE, [0, 1, 2, 1])


def _of_tasks(**settings):
    estimator = MultitaskEstimator(SequenceTagger(n_jobs=1), TREE, n_jobs=1, **settings)
    estimator.fit({"a": (WORDS, TAGS), "b": (WORDS[:1], TAGS[:1])})


_WORKS = (
    (_tagged, {}),
    (_tagged, {"loss": "margin"}),
    (_tagged, {"loss": "ramp"}),
    (_tagged, {"tuning": "implicit", "cv": 2}),
    (_tagged, {"tuning": "majorize"}),
    (_tagged, {"tuning": "grid", "cv": 2}),
    (_contradicted, {"constraints": ValidationConstraints(n_sets=2)}),
    (_classified, {"tuning": None}),
    (_of_tasks, {"gammas": [0.5], "factors": [1.0]}),
    (_of_tasks, {"gammas": [0.0, 0.5], "factors": [1.0]}),
)


@cache
def checkpoints():
    """What each work leaves that is not done, where it is killed early and late."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for work, settings in _WORKS:
            path = Path(folder) / "c"
            work(run=_short(Checkpoint(path, seconds=0.0, lasting=True, resume=False)), **settings)
            found.append(packed(*_without_seconds(path.read_bytes())))
    return found


def _without_seconds(data):
    header, arrays = parsed(data)
    for state in header["states"].values():
        if "seconds" in state:
            state["seconds"] = 0.0
            state["history"] = [{**record, "seconds": 0.0} for record in state["history"]]
    return json.dumps(header), arrays


def _use_checkpoint(path):
    """Go on with the work that the file is of, if it is of any."""
    for work, settings in _WORKS:
        try:
            work(run=_short(_Unwritten(path)), **settings)
        except DataError as error:
            if "the checkpoint is from another training" not in str(error):
                raise
            refused = error
        else:
            return
    raise refused


# --- data -------------------------------------------------------------------------------------------------

_TAGGED = "the DT B-NP\ndog NN I-NP\n\n-DOCSTART- x y z\n\nbarks VB B-VP\n# no comment\n"
_FASTA = ">a first one\nACGU\nNRYSWKMB\n\n>b\nDHVX\n"
_BRACKETS = ">a\nGGGAAACCC\n(((...))) (-1.20)\n>b words\nacgtAA\n([.)].\n>c\nACGU\n.Aa.\n"
_BPSEQ = "#Name: x\n1 G 6\n2 G 5\n3 A 0\n4 A 0\n5 C 2\n6 C 1\n"
_CT = "4 ENERGY = -1.2 x\n1 G 0 2 4 1\n2 A 1 3 0 2\n3 A 2 4 0 3\n4 C 3 0 1 4\n1 y\n1 A 0 2 0 1\n"
_COMMANDS = ">a\nF 1 0 2 A D\nP 1-3 5-9\nE 1 12 2 -1.5 # c\n1 9 2.0\n3 -1e-1\n>b c\nC 2 8 1\n%\n1 9 -inf\n"
_SEQ = "; c\na b\nGGG AAA\nccUP1\n;\n\nAC1\n"
_SUBOPT = ">a [9]\nGGGAAACCC -120 9\n(((...))) -1.20\n((.....)) 0\n>b\nAC\n.. (0)\n.. [0.0]\n.. {0 d=1}\n"
_EVIDENCE = "1 G e2 0.5 -1\n2 G e2 .1 1e-6\n"
_STOCKHOLM = (
    "# STOCKHOLM 1.0\n#=GF ID t\n\none/1-9       GGG-AAACCC\ntwo           g.cUAAA-.C\n"
    "#=GC SS_cons  <<(,___)>>\n#=GC RF       GGGaAAACCC\n//\n# STOCKHOLM 1.0\nx GGAA.CC\n"
    "#=GC SS_cons A<..a>.\n//\n"
)
_SVMLIGHT = "1 1:0.5 7:-1e-2 # c\n# c\n-1.5 2:3\n\n2 0:1.5\n"
_LETOR = "2 qid:10 1:0.5 2:NULL 7:-1e-2 #docid = 1056\n0 qid:10 1:.25 2:3 7:0\n# c\n1 qid:b 1:1. 7:1E3\n"
_ALIGNED = ">a first\nAC\n-D\n\n>b\nA.cD\n>c\n--CD\n"
_CLUSTAL = "CLUSTAL W (1.83)\n\na   AC 2\nb   A. 1\nc   --\n\na   -D 3\nb   cD 3\nc   CD 2\n     *\n"
_PROTEINS = "# STOCKHOLM 1.0\n#=GF ID x\na  AC\nb  A.\n\na  -D\nb  cD\n#=GC SS_cons HHHH\n//\n"
_PARAMETERS = "base_pair_AU 0.5\nhairpin_length_at_least_0 -1e-3\n\nmulti_base 2\n"
_DNA = ">a 1..4\nACgt\n\nNn\n>b\nRYK\n"
_GFF3 = (
    "##gff-version 3\n#c\nc\tx\tgene\t1\t30\t.\t+\t.\tID=g\nc\tx\tmRNA\t1\t30\t0.5\t+\t.\tID=t;Parent=g\n"
    "c\tx\tCDS\t1\t4\t.\t+\t0\tParent=t\nc\tx\tCDS\t11\t15\t.\t+\t2\tParent=t\n"
    "c\tx\tregion\t1\t60\t.\t.\t.\tIs_circular=true\nc\tx\tCDS\t40\t45\t.\t-\t0\tID=p;pseudo=true\n"
)
_GTF = (
    "#c\nc\tx\tgene\t1\t30\t.\t+\t.\tg\nc\tx\ttranscript\t1\t30\t0.5\t+\t.\tt\n"
    'c\tx\tCDS\t1\t4\t.\t+\t0\ttranscript_id "t"; gene_id "g";\n'
    'c\tx\tstart_codon\t1\t3\t.\t+\t0\ttranscript_id "t"; gene_id "g";\n'
    'c\tx\tCDS\t11\t15\t.\t+\t2\ttranscript_id "t"; gene_id "g";\n'
    'c\tx\tstop_codon\t16\t18\t.\t+\t0\ttranscript_id "t"; gene_id "g";\n'
)
_WHOLE_GFF3 = f"{_GFF3}##FASTA\n>c\n{'ACGTAC' * 10}\n"
_SINGLE = 'join(3..8,15..17)\n                     /gene="g5.t1"\n                     /locus_tag="b1"\n'


def _genbank():
    other = _SINGLE.replace("join(3..8,15..17)", "complement(join(<5..10,21..>23))")
    features = "".join(f"     CDS             {each}" for each in (_SINGLE, other))
    whole = genbank_text(AnnotatedSequence("r2", "ACGTAC" * 10, ()))
    return (genbank_text(GENES[0]) + whole.replace("ORIGIN", f"{features}ORIGIN")).encode()


def _all_of(read, **options):
    """A use that reads all that a reader yields."""

    def use(path):
        found = read(path, **options)
        if hasattr(found, "__next__"):
            for _ in found:
                pass

    return use


def _rna(path):
    """Records, which are then written again."""
    records = list(islice(rna.read_rna(path), 10_000))
    written = io.StringIO()
    rna.write_rna(written, [r for r in records if r.structure is not None], "ct")


def _texts(*texts):
    """Inputs, each plain and one compressed."""
    found = [text.encode() if isinstance(text, str) else text for text in texts]
    return lambda: [*found, *found, *found, gzip.compress(found[0], mtime=0)]


_READERS = {
    "conll": (_texts(_TAGGED), _all_of(read_conll)),
    "conll of any columns": (_texts(_TAGGED), _all_of(read_conll, columns=None, comment="#")),
    "fasta": (_texts(_FASTA), _all_of(partial(rna.read_rna, format="fasta"))),
    "dot-bracket": (_texts(_BRACKETS), _all_of(partial(rna.read_rna, format="dot_bracket"))),
    "bpseq": (_texts(_BPSEQ), _all_of(partial(rna.read_rna, format="bpseq"))),
    "ct": (_texts(_CT), _all_of(partial(rna.read_rna, format="ct"))),
    "stockholm": (_texts(_STOCKHOLM), _all_of(partial(rna.read_rna, format="stockholm"))),
    "rna files": (_texts(_FASTA, _BRACKETS, _BPSEQ, _CT, _STOCKHOLM, _SEQ, _SUBOPT, _EVIDENCE), _rna),
    "rna alignments": (_texts(_STOCKHOLM), _all_of(rna.read_alignments)),
    "commands of RNA": (_texts(_COMMANDS), _all_of(rna.read_commands)),
    "contrafold": (lambda: [_PARAMETERS.encode()], _all_of(rna.read_contrafold)),
    "letor": (_texts(_LETOR), _all_of(read_letor)),
    "letor blocks": (_texts(_LETOR), _all_of(lambda path: read_letor_blocks(path, n_values=3))),
    "svmlight": (_texts(_SVMLIGHT), _all_of(lambda path: read_svmlight_blocks(path, n_bytes=20))),
    "protein alignments": (_texts(_ALIGNED, _CLUSTAL, _PROTEINS), _all_of(read_protein_alignments)),
    "proteins": (_texts(_ALIGNED), _all_of(read_proteins)),
    "dna": (_texts(_DNA), _all_of(genes.read_dna)),
    "gff3": (_texts(_GFF3), _all_of(genes.read_gff3)),
    "gtf": (_texts(_GTF), _all_of(genes.read_gtf)),
    "annotations": (_texts(_GFF3, _GTF), _all_of(genes.read_annotation)),
    "genbank": (_texts(_genbank()), _all_of(genes.read_genbank)),
    "genomes": (_texts(_WHOLE_GFF3, _genbank()), _all_of(genes.read_genomes)),
}

_SHARES = {"genes": 0.2}  # files of a megabyte
MODELS = {
    name: Target(name, partial(_saved, name), _any_mutation, _use_model, _SHARES.get(name, 1.0))
    for name in _FITTED
}
READERS = {name: Target(name, seeds, mutate_bytes, use) for name, (seeds, use) in _READERS.items()}
FOLDERS = {
    f"{name} shards": Target(
        f"{name} shards", partial(_folder_of, name), mutate_folder, _use_folder(kind), _SHARES.get(name, 0.5)
    )
    for name, kind in EXAMPLES.items()
}
STATES = {"checkpoint": Target("checkpoint", checkpoints, _any_mutation, _use_checkpoint, 0.2)}
TARGETS = MODELS | READERS | FOLDERS | STATES
