"""Report pages of predicted labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import chain
from typing import Any

import numpy as np

from structune.html_reports.page import Block, Section, Text, Tokens, make_table
from structune.html_reports.pictures import histogram
from structune.plots.figure import shortened
from structune.tagging.conll import ConllData
from structune.tagging.metrics import segment_scheme
from structune.tagging.structure.labels import OUTSIDE, as_bio, is_first

Labels = Sequence[Sequence[str]]
Marginals = Sequence[Sequence[dict[str, float]]] | None
_MOST_DRAWN, _MOST_TOKENS, _MOST_RANKS = 20, 300, 3  # sentences, their tokens, and labellings of each
_MOST_UNSURE, _N_AROUND, _LONGEST = 100, 2, 24  # rows, tokens of context, and letters of each
_MOST_LABELS = 300
_N_STEPS = 100  # of probabilities, for the histogram
_SURE, _UNSURE = 0.995, 0.8
