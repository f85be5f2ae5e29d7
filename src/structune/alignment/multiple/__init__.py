"""Multiple alignments, from the probabilities of the matches of any two of their sequences.

- ``compared``: which two are compared, if there are many
- ``pairs``: those probabilities, by a model of two
- ``matches``: all of them as one sparse table; what third sequences say of them
- ``progressive``: a guide tree, and alignments of groups along it, which are refined then
- ``confidence``: how sure columns are
- ``alignment``: what comes out; ``families``: the method of `SequenceAligner`
- ``plots``: the guide tree; ``report``: a part of a page
"""
