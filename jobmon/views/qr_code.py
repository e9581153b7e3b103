"""A QR code as lines of text, square in a terminal: two rows of its modules a line, or one in ASCII."""

from __future__ import annotations

_BORDER = 4  # modules; ISO/IEC 18004 asks for a quiet zone of four
# (upper module is dark, lower module is dark) -> the character that draws the light ones on a dark terminal
_HALVES = {(False, False): "█", (False, True): "▀", (True, False): "▄", (True, True): " "}
_BLACK_AND_WHITE, _RESET = "\x1b[97;40m", "\x1b[0m"  # bright white on black, whatever the user's colours


def qr_lines(text: str, *, colour: bool = False, ascii_only: bool = False) -> list[str]:
    """Return the QR code of a short text; empty if the library for it (segno) is not installed.

    With ``colour``, the code is white on black in every terminal; without, it needs a dark one. With
    ``ascii_only``, it is twice as large. The code of 50 characters is 37 columns wide, or 74.
    """
    try:
        import segno
    except ImportError:
        return []
    rows = [[bool(module) for module in row] for row in segno.make(text, error="l", micro=False).matrix]
    size = len(rows) + 2 * _BORDER
    light = [False] * size
    padded = [light] * _BORDER
    padded += [[False] * _BORDER + row + [False] * _BORDER for row in rows]
    padded += [light] * _BORDER
    if ascii_only:
        lines = ["".join("  " if dark else "##" for dark in row) for row in padded]
    else:
        if size % 2:
            padded.append(light)
        pairs = zip(padded[::2], padded[1::2], strict=True)
        lines = ["".join(_HALVES[both] for both in zip(upper, lower, strict=True)) for upper, lower in pairs]
    return [f"{_BLACK_AND_WHITE}{line}{_RESET}" for line in lines] if colour else lines
