"""Section 1 of the projections: string values that are joined."""

from .words import has_half


def join(parts):
    """The parts in order; a high half and a low half that meet are one.

    Only those at a seam: two halves may be neighbours within a part, where
    white space between them was taken out (X1).
    """
    text = "".join(parts)
    if not has_half(text):
        return text
    out = []
    for part in parts:
        if not part:
            continue
        if out and "\ud800" <= out[-1][-1] <= "\udbff" and "\udc00" <= part[0] <= "\udfff":
            high, low = ord(out[-1][-1]) - 0xD800, ord(part[0]) - 0xDC00
            out[-1] = out[-1][:-1]
            out.append(chr(0x10000 + (high << 10) + low))
            part = part[1:]
            if not part:
                continue
        out.append(part)
    return "".join(out)
