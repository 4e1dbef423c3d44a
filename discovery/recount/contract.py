"""Checks artifacts by the rules of docs/contract.md that the artifact of a projection can violate."""

import json
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any

ROLES = ("developer", "system", "assistant", "user", "tool")
SPACES = (*range(0x9, 0xE), *range(0x1C, 0x21), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B))
SPACES += (0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
SPACE = "".join(map(chr, SPACES))
NO_SPACE = str.maketrans("", "", SPACE)
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
CONTRACT = Path(__file__).resolve().parents[2] / "docs" / "contract.md"
V1_LIMITS = {"ref": 256, "id": 256, "content": 262144, "name": 128, "code": 128, "message": 1024}
ASSAY_LIMITS = {"ref": 96, "id": 96, "content": 400, "name": 60, "code": 48, "message": 200}
SCHEMES = re.compile(
    "(about|blob|callto|cid|data|facetime|facetime-audio|file|filesystem|ftp|ftps|geo|gs|http|https|intent|irc|ircs|jar"
    "|javascript|ldap|ldaps|magnet|mailto|mid|news|nntp|s3|sftp|sip|sips|skype|sms|ssh|tel|vbscript|view-source|vscode"
    "|webcal|ws|wss|xmpp):",
    re.IGNORECASE | re.ASCII,
)
LOCALHOST = re.compile(r"localhost\.?", re.IGNORECASE | re.ASCII)
IPV4 = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.?", re.ASCII)
IPV6 = re.compile(r"\[(?=[^:]*:[^:]*:)[0-9A-Fa-f:.]+\]")
LABELS = re.compile(r"(?:[A-Za-z0-9_%\u0080-\U0010ffff-]+\.)+(?![0-9])[A-Za-z0-9_%\u0080-\U0010ffff-]+\.?")


@dataclass
class Finding:
    code: str
    pointer: str = ""
    event: str = ""


def trim(text: str) -> str:
    return text.strip(SPACE)


def blank(text: str) -> bool:
    return not trim(text)


def canonical(artifact: dict[str, Any]) -> bytes:
    """Returns the canonical file (C1 to C3). The keys must already be in order."""
    return (json.dumps(artifact, ensure_ascii=False, indent=2) + "\n").encode()


def compact(artifact: dict[str, Any]) -> bytes:
    """Returns the artifact without white space between tokens."""
    return json.dumps(artifact, ensure_ascii=False, separators=(",", ":")).encode()


def format_time(moment: datetime) -> str:
    """Formats a time label (L5)."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + (f".{moment.microsecond:06}" if moment.microsecond else "") + "Z"


def instant(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)


@cache
def shapes() -> list[re.Pattern[str]]:
    """Returns the patterns of stack traces that A26 in docs/contract.md lists."""
    rule = CONTRACT.read_text(encoding="utf-8").split('<a id="A26">')[1].split("\n## ")[0]
    parts_text, shapes_text = re.findall(r"```\n(.*?)```", rule, re.DOTALL)
    parts: dict[str, str] = {}

    def expand(text: str) -> str:
        return re.sub("<([A-Z]+)>", lambda m: parts.get(m[1], m[0]), text)

    for entry in parts_text.splitlines():
        name, expression = entry.split(None, 1)
        parts[name] = expand(expression)
    return [re.compile(expand(entry.split(None, 1)[1]), re.ASCII) for entry in shapes_text.splitlines()]


def stack_trace(text: str) -> int | None:
    """Returns the index at which a stack trace begins in text, or None (A26)."""
    starts = [match.start() for shape in shapes() if (match := shape.search(text[:8192]))]
    if not starts:
        return None
    start = min(starts)
    before = re.search(r"(?:[\t-\r \\]|(?<=\\)[nrt])*$", text[:start])
    return before.start() if before else start


def validate(artifact: dict[str, Any], limits: dict[str, int]) -> list[Finding]:
    """Returns the findings of an artifact under the contract."""
    findings: list[Finding] = []
    for key in ("thread_id_ref", "run_id_ref", "parent_run_id_ref"):
        if key in artifact and (code := refused_reference(artifact[key], limits["ref"])):
            findings.append(Finding(code, "/" + key))
    if "finished_at" in artifact and moment(artifact["finished_at"]) < moment(artifact["started_at"]):
        findings.append(Finding("times_out_of_order", "/finished_at"))
    if artifact["terminal_event"] == "RUN_ERROR" and "error_message" not in artifact:
        findings.append(Finding("key_missing", "/error_message"))
    for key in ("code", "message"):
        text = artifact.get("error_" + key, "")
        if len(trim(text)) > limits[key]:
            findings.append(Finding("too_long", "/error_" + key))
        if CONTROL.search(text):
            findings.append(Finding("control_character", "/error_" + key))
        if stack_trace(text) is not None:
            findings.append(Finding("error_stack_trace", "/error_" + key))
    seen: set[str] = set()
    for number, message in enumerate(artifact["messages"]):
        for key, limit in limits.items():
            if key not in message:
                continue
            if blank(message[key]):
                findings.append(Finding("value_blank", f"/messages/{number}/{key}"))
            elif len(trim(message[key])) > limit:
                findings.append(Finding("too_long", f"/messages/{number}/{key}"))
        if trim(message["id"]) in seen:
            findings.append(Finding("message_id_repeated", f"/messages/{number}/id"))
        seen.add(trim(message["id"]))
    if len(artifact["messages"]) > 2000:
        findings.append(Finding("messages_too_many", "/messages"))
    if len(canonical(artifact)) > 8388608:
        findings.append(Finding("file_too_large"))
    return findings


def moment(label: str) -> datetime:
    return instant(label if "." in label else label[:-1] + ".0Z")


def refused_reference(ref: str, limit: int = V1_LIMITS["ref"]) -> str | None:
    """Returns the code of the rule that ref violates, or None (A7, A11 to A14, A27 to A29)."""
    if blank(ref):
        return "value_blank"
    if len(ref) > limit:
        return "too_long"
    if "://" in ref or CONTROL.search(ref) or any(c in SPACE for c in ref):
        return "ref_not_opaque"
    if re.match(r"[/\\][/\\]|[wW]{3}\.", ref) or SCHEMES.match(ref) or host(ref):
        return "ref_not_opaque"
    return None


def host(ref: str) -> bool:
    """Whether a reference begins with a host (A29)."""
    authority = re.split(r"[/\\?#]", ref, maxsplit=1)[0]
    followed = len(authority) < len(ref)
    authority = authority.rpartition("@")[2]
    port = re.search(r":[0-9]+$", authority)
    name = authority[: port.start()] if port else authority
    numbers = IPV4.fullmatch(name)
    place = (
        LOCALHOST.fullmatch(name)
        or IPV6.fullmatch(name)
        or (numbers and all(int(number) <= 255 for number in numbers.groups()))
    )
    if followed:
        return bool(place or LABELS.fullmatch(name))
    return bool(port and place)


def mapper() -> str:
    """Returns the version of Assay's mapper whose limits the profile assay uses."""
    found = re.search(r"`too_long`, Assay's mapper ([0-9.]+)\.\n", CONTRACT.read_text(encoding="utf-8"))
    assert found
    return found[1]
