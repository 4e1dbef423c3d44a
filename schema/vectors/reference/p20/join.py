"""Section 1 of the projections: joins string values."""

from .characters import has_half


def join(parts):
    """Joins the parts; a high half and a low half that meet become one code point.

    This applies only where two parts meet: two halves may be neighbours within a part
    because white space between them was removed (X1).
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
