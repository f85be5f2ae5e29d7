"""Parameters in docstrings, and those that classes inherit."""

from structune.files.docstrings import parameter_entries, with_inherited

_BASE = """A base.

    Parameters
    ----------
    a : int
        How many.

        Or more.
    b, c : {"x", "y"}
        Two at once.

    Notes
    -----
    d : none of the parameters
    """


def test_entries_are_read_with_their_names_types_and_texts():
    found = [
        (each["names"], each["type"], " ".join(each["text"].split())) for each in parameter_entries(_BASE)
    ]
    assert found == [
        ("a", "int", "How many. Or more."),
        ("b, c", '{"x", "y"}', "Two at once."),
    ]
    assert not [*parameter_entries(None)]


def test_a_class_inherits_what_its_docstring_lacks():
    own = 'One.\n\nParameters\n----------\nc : "x"\n    Only.\n\nAttributes\n----------\na : int\n    Own.\n'
    other = "Parameters\n----------\na : float\n    Share.\ne : int\n    Of a base.\n"
    told = with_inherited(own, [None, other, _BASE], ["a", "c"])
    before, _, after = own.partition("\n\nAttributes")
    assert told == f"{before}\na : float\n    Share.\n\nAttributes{after}"
    assert with_inherited("No section.", [_BASE], ["a"]).rstrip() == "No section."
