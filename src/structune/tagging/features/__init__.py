"""Features of sequences: attribute tables and the templates that fill them."""

from structune.tagging.features.attributes import AttributeTable
from structune.tagging.features.templates import (
    Boundary,
    Conjunction,
    Lower,
    Prefix,
    Shape,
    Suffix,
    Template,
    Token,
    conll2000_templates,
    extract,
    parse_template,
    parse_templates,
    window,
)

__all__ = [
    "AttributeTable",
    "Boundary",
    "Conjunction",
    "Lower",
    "Prefix",
    "Shape",
    "Suffix",
    "Template",
    "Token",
    "conll2000_templates",
    "extract",
    "parse_template",
    "parse_templates",
    "window",
]
