"""A12 to A14 and A27 to A29: forms that references must not have."""

import re

from .characters import has_control, has_white_space

# A28: schemes after which a colon makes a reference malformed.
SCHEMES = frozenset(
    "about blob callto cid data facetime facetime-audio file filesystem ftp ftps "
    "geo gs http https intent irc ircs jar javascript ldap ldaps magnet mailto mid "
    "news nntp s3 sftp sip sips skype sms ssh tel vbscript view-source vscode "
    "webcal ws wss xmpp".split()
)

_NETWORK = re.compile(r"[/\\]{2}|[wW]{3}\.")
_SCHEME = re.compile(r"([A-Za-z0-9-]+):")
_AFTER_AUTHORITY = re.compile(r"[/\\?#]")

# A29: the four kinds of host; for the last kind only the characters.
_LOCALHOST = re.compile(r"[lL][oO][cC][aA][lL][hH][oO][sS][tT]\.?")
_QUAD = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.?")
_BRACKETS = re.compile(r"\[[0-9A-Fa-f:.]+\]")
_NAME = re.compile(r"[A-Za-z0-9_%.\u0080-\U0010ffff-]+")


def fault(text):
    """Returns the first rule that a reference breaks, or None."""
    if "://" in text:
        return "A12"
    if has_control(text):
        return "A13"
    if has_white_space(text):
        return "A14"
    if _NETWORK.match(text):
        return "A27"
    scheme = _SCHEME.match(text)
    if scheme and scheme.group(1).lower() in SCHEMES:
        return "A28"
    if begins_with_host(text):
        return "A29"
    return None


def begins_with_host(text):
    """A29: returns whether a reference begins with a host."""
    end = _AFTER_AUTHORITY.search(text)
    host = text[: end.start()] if end else text
    host = host.rpartition("@")[2]
    before, _, port = host.rpartition(":")
    has_port = port.isascii() and port.isdigit() and before != ""
    if has_port:
        host = before
    if not end and not has_port:
        return False
    return is_address(host) or (end is not None and is_name(host))


def is_address(host):
    """Returns whether a host is one of the first three kinds."""
    if _LOCALHOST.fullmatch(host):
        return True
    quad = _QUAD.fullmatch(host)
    if quad:
        return all(int(number) <= 255 for number in quad.groups())
    return _BRACKETS.fullmatch(host) is not None and host.count(":") >= 2


def is_name(host):
    """Returns whether a host is of the fourth kind."""
    host = host.removesuffix(".")
    if not _NAME.fullmatch(host) or host[0] == "." or host[-1] == "." or ".." in host:
        return False
    _, dot, last = host.rpartition(".")
    return dot != "" and last[0] not in "0123456789"
