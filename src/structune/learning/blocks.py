"""Training sets that are larger than memory, encoded block by block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from structune.errors import DataError
from structune.learning.estimator import StructuredEstimator
from structune.structure import Shard

if TYPE_CHECKING:
    from structune.files.shards import ShardFolder, ShardWriter

Blocks = Callable[[], Iterable[Any]]


class BlockEstimator(StructuredEstimator):
    """An estimator whose examples need not be in memory together, not even to be encoded."""

    def write_blocks(
        self, blocks: Blocks, writer: ShardWriter, extra: Mapping[str, Any] | None = None
    ) -> ShardFolder:
        """Write a folder of shards of more examples than memory holds.

        Parameters
        ----------
        blocks : function without arguments
            Gives what `fit` takes of some examples, as a tuple ``(X, y, ...)``, block by block; for gene
            finders lists of `AnnotatedSequence`. It is called twice where something is to be known of all
            examples before the first is encoded, such as their classes, or the lengths of introns.
        writer : ShardWriter
        extra : mapping, optional
            As `ShardWriter.finish` takes it.

        Raises
        ------
        DataError
            What `fit` refuses; names the block, from 0, where examples have no names.
        """
        model = self.__sklearn_clone__()
        for shard, groups in model._encoded_blocks(blocks):
            if len(shard):
                writer.add(shard, groups)
        if writer.n_examples:  # or else there is no structure, which the writer refuses
            model._import(np.zeros(model._structure.n_weights))
        return writer.finish(model, extra)

    @abstractmethod
    def _encoded_blocks(self, blocks: Blocks) -> Iterator[tuple[Shard, Any]]:
        """The examples of each block, encoded, and their groups; keeps the structure."""


@contextmanager
def in_block(number: int) -> Iterator[None]:
    """Let errors from within name the block."""
    try:
        yield
    except ValueError as error:
        raise DataError(f"block {number}: {error}") from error
