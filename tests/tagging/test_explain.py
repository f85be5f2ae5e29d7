"""Explanations: their contributions add up to differences of scores, which are taken from the structure."""

import pytest

from chains import RULES, is_allowed, random_tagger, score_of
from structune import SequenceTagger
from structune.errors import DataError


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_contributions_add_up(order, rules, seed):
    tagger, X = random_tagger(seed, order, RULES[rules], states="all" if seed else "seen")
    marginals = tagger.predict_marginals(X)
    for tokens, labels, shares in zip(X, tagger.predict(X), marginals, strict=True):
        explained = tagger.explain(tokens)
        assert [one.label for one in explained] == labels
        for t, (one, share) in enumerate(zip(explained, shares, strict=True)):
            others = [[*labels[:t], k, *labels[t + 1 :]] for k in tagger.classes_ if k != labels[t]]
            scores = {k[t]: score_of(tagger, tokens, k) for k in others if is_allowed(k, RULES[rules])}
            if not scores:
                assert (one.runner_up, one.contributions, one.difference) == (None, [], 0)
                continue
            assert one.runner_up == max(scores, key=scores.get)
            expected = score_of(tagger, tokens, labels) - scores[one.runner_up]
            assert one.difference == pytest.approx(expected, abs=1e-9)
            assert (one.probability, one.runner_up_probability) == pytest.approx(
                (share[one.label], share[one.runner_up])
            )
            sizes = [abs(part.value) for part in one.contributions]
            assert sizes == sorted(sizes, reverse=True)
            assert all(sizes)


def test_tables():
    tagger, X = random_tagger(0)
    explained = tagger.explain(X[0])
    assert [one.n_unknown for one in explained] == [1, 0, 0]
    assert {part.name for part in explained[1].contributions} <= {
        *X[0][1], f"{explained[0].label} -> *", f"* -> {explained[2].label}"
    }  # fmt: skip
    lines = str(explained).splitlines()
    assert len(lines) == 4
    assert "1 unknown" in lines[1]
    explained[0] = explained[0].__class__("<b>", 0.5, "O", 0.4, [], 0)
    assert "<td>&lt;b&gt;</td>" in explained._repr_html_()
    assert "<b>" not in explained._repr_html_()


def test_without_probabilities_or_tokens():
    tagger, X = random_tagger(0, loss="margin")
    assert {one.probability for one in tagger.explain(X[1])} == {None}
    assert tagger.explain([]) == []
    one = SequenceTagger(penalty=1.0).fit([[["a"]], [["a"]]], [["O"], ["O"]]).explain([["a"]])[0]
    assert (one.label, one.probability, one.runner_up) == ("O", 1.0, None)
    with pytest.raises(DataError, match="1 words, but 4 tokens"):
        tagger.explain(X[1]).text(words=["a"])
    with pytest.raises(DataError):
        tagger.explain("ab")
