"""`canonical` is `json.dumps` with sorted keys and no spaces, wherever both are defined."""

import enum
import json

import pytest
from hypothesis import given, settings, strategies

import toolreplay

SCALARS = (
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.integers(-(10**400), 10**400)
    | strategies.floats(allow_nan=False, allow_infinity=False)
    | strategies.text(strategies.characters(codec=None))
)
VALUES = strategies.recursive(
    SCALARS,
    lambda inner: strategies.lists(inner)
    | strategies.tuples(inner, inner)
    | strategies.dictionaries(strategies.text(strategies.characters(codec=None)), inner),
    max_leaves=40,
)


@settings(max_examples=1000, deadline=None)
@given(VALUES)
def test_equals_json_dumps(value):
    expected = json.dumps(value, sort_keys=True, separators=(",", ":"))
    assert toolreplay.canonical(value) == expected
    assert toolreplay.canonical(json.loads(expected)) == expected


def test_odd_values():
    class Colour(enum.IntEnum):
        RED = 7

    class Name(str):
        def __repr__(self):
            raise AssertionError("no code of a subclass runs")

    pairs = [(-0.0, "-0.0"), (1e16, "1e+16"), (5e-324, "5e-324"), ("\ud800", '"\\ud800"'), (Colour.RED, "7")]
    pairs += [(Name("x"), '"x"'), (True, "true"), ({}, "{}"), ([], "[]"), ("\x7f😀", '"\\u007f\\ud83d\\ude00"')]
    for value, expected in pairs:
        assert toolreplay.canonical(value) == expected == json.dumps(value)
    # by code points, not by UTF-16 units
    assert toolreplay.canonical({"\uffff": 1, "😀": 2}) == '{"\\uffff":1,"\\ud83d\\ude00":2}'


def test_refused():
    loop = []
    loop.append(loop)
    for value in (float("nan"), float("inf"), -float("inf"), loop, {"a": loop}):
        with pytest.raises(ValueError):
            toolreplay.canonical(value)
    for value in ({1: 2}, {None: 1}, {(): 1}, {1, 2}, b"x", object(), 1j, {"a": [object()]}):
        with pytest.raises(TypeError):
            toolreplay.canonical(value)
