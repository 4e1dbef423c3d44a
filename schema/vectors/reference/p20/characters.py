"""Section 1: white space, control characters, halves of surrogate pairs."""

import re

WHITE_SPACE = (
    "\u0009\u000a\u000b\u000c\u000d\u001c\u001d\u001e\u001f\u0020\u0085\u00a0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

ANY_WHITE_SPACE = re.compile("[" + re.escape(WHITE_SPACE) + "]")
ANY_CONTROL = re.compile("[\u0000-\u001f\u007f-\u009f]")
HALVES = re.compile("[\ud800-\udfff]+")


def trim(text):
    """Returns the text without white space at both ends."""
    return text.strip(WHITE_SPACE)


def has_half(text):
    """Returns whether the text contains half of a surrogate pair."""
    return not text.isascii() and HALVES.search(text) is not None


def has_control(text):
    """Returns whether the text contains a control character."""
    return ANY_CONTROL.search(text) is not None


def has_white_space(text):
    """Returns whether the text contains white space."""
    return ANY_WHITE_SPACE.search(text) is not None
