"""Words of nucleotides, as numbers."""

from structune.kernels.jit import bare_kernel


@bare_kernel
def words(letter, length, out, reverse):
    """The word of ``length`` letters that ends at each position, and that of the other strand that does.

    Words are numbers in base 4, the last letter last; where one has an N, or would begin before the sequence,
    it is ``4 ** length``.
    """
    # `code` takes a letter in on the right and loses one on the left. `back`, the word of the other strand,
    # takes the complement 3 - a in on the left, and is known once its last letter, the first here, is passed.
    n, none = letter.size, 4**length
    mask, top = none - 1, 2 * (length - 1)
    known, code, back = 0, 0, 0
    for t in range(n):
        a = letter[t]
        known = known + 1 if a < 4 else 0
        code = (code << 2 | (a & 3)) & mask
        back = back >> 2 | (3 - (a & 3)) << top
        out[t] = code if known >= length else none
        if t >= length - 1:
            reverse[t - length + 1] = back if known >= length else none
    for t in range(max(0, n - length + 1), n):
        reverse[t] = none
