"""Multiple alignments, from the probabilities of the matches of any two of their sequences.

- ``pairs``: which two are compared, and those probabilities, by a model of two
- ``matches``: all of them as one sparse table; what third sequences say of them
- ``progressive``: a guide tree, and alignments of groups along it, which are refined then
- ``alignment``: what comes out, and how sure columns are
"""
