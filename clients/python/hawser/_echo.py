"""Recognizes the echo of typed lines at the beginning of the output that follows them.

A line editor may draw a line several times, each time from its beginning or from where it stopped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Longest input whose echo is recognized, in characters.
_LONGEST_INPUT = 16 * 1024
#: An editor draws a line at most about this many times, with this many spaces and cursor movements.
_MOST_DRAWS = 8
_MOST_MOVES = 256
_PASTE_MARKS = re.compile(r"\x1b\[20[01]~")
#: Keys that edit the line, so that its echo is not what was typed.
_EDITING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def typed_lines(data: bytes) -> list[str]:
    """The whole lines that this input types; none if their echo can't be known."""
    text = _PASTE_MARKS.sub("", data.decode("utf-8", "replace"))
    if len(text) > _LONGEST_INPUT or _EDITING.search(text):
        return []
    return re.split(r"\r\n|[\r\n]", text)[:-1]


def echo_length(text: str, lines: Sequence[str]) -> int:
    """Number of characters at the beginning of `text` that are an echo, or all of them while more must decide."""
    length = 0
    for line in lines:
        end = _end_of_echo(text, length, line)
        if end is None:
            return length
        if end == _UNDECIDED:
            return len(text)
        length = end
    return length


_UNDECIDED = -1


def _end_of_echo(text: str, start: int, line: str) -> int | None:
    longest = start + _MOST_DRAWS * len(line) + _MOST_MOVES
    shown = 0
    for at in range(start, len(text)):
        character = text[at]
        if character == "\n":
            return at + 1 if shown == len(line) else None
        if shown < len(line) and character == line[shown]:
            shown += 1
        elif line and character == line[0]:
            shown = 1
        elif character not in "\r\b ":
            return None
        if at > longest:
            return None
    return _UNDECIDED
