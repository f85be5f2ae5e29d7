"""Words that options of the RNA commands may have."""

from enum import StrEnum


class Decoding(StrEnum):
    """Which structure of a sequence is wanted."""

    mea = "mea"
    viterbi = "viterbi"
    centroid = "centroid"


class Format(StrEnum):
    """What structures are written as."""

    dbn = "dbn"
    ct = "ct"
    bpseq = "bpseq"
    json = "json"
    pairs = "pairs"
    bases = "bases"


class InputFormat(StrEnum):
    """What sequences are read as."""

    fasta = "fasta"
    dot_bracket = "dot_bracket"
    plain = "plain"
    bpseq = "bpseq"
    ct = "ct"
    stockholm = "stockholm"


class ShapeMethod(StrEnum):
    """How reactivities become log odds."""

    learned = "learned"
    deigan = "deigan"


class FeatureSet(StrEnum):
    """Which features a model has."""

    contrafold = "contrafold"
    extended = "extended"


class Outside(StrEnum):
    """What to do with structures that the model cannot produce."""

    skip = "skip"
    trim = "trim"
    error = "error"
