"""Section 9 of the projections: what a snapshot lacks."""

from collections import Counter

from .artifact import ROLES
from .characters import ANY_WHITE_SPACE
from .messages import text_of
from .run_input import input_of, messages_of, other_run


def said(text):
    """X1: returns the bare text of a string, which has no white space."""
    return ANY_WHITE_SPACE.sub("", text)


def _pairs(elements):
    """X3, X5: returns the pairs of the messages of a list, without empty ones."""
    pairs = []
    for element in elements:
        if type(element) is not dict or type(element.get("role")) is not str:
            continue
        text = said(text_of(element.get("content")))
        if text:
            pairs.append((element["role"], text))
    return pairs


def _requested(run, request):
    """X4: returns the pairs of the request."""
    if request is not None and request.fault is None:
        messages = _taken(run, request.value)
        if messages is not None:
            return _pairs(messages)
    messages = _taken(run, input_of(run))
    return [] if messages is None else _pairs(messages)


def _taken(run, value):
    """Q4, Q5: returns the messages of a run input that is taken, or None."""
    messages = messages_of(value)
    if messages is None or other_run(value, run) is not None:
        return None
    return messages


def lacking(run, snapshot, request):
    """X1 to X7: returns the indexes of the events that began lacking messages."""
    streamed = []  # (pair, index of the first event)
    for message in run.fold.messages.values():  # X2
        if message.role in ROLES:
            text = said(message.text)
            if text:
                streamed.append(((message.role, text), message.first))
    if not streamed:
        return []
    emitted = _pairs(snapshot.value["messages"])
    requested = _requested(run, request)
    echo = 0
    if requested:
        for number in range(len(emitted), 0, -1):
            if emitted[number - 1] == requested[-1]:
                echo = number
                break
    past = emitted[echo:]
    have = Counter(past)
    surplus = Counter(emitted[:echo])
    surplus.subtract(Counter(requested))
    for pair, count in surplus.items():
        if count > 0:
            have[pair] += count  # X5
    found = []
    for pair, first in streamed:
        if have[pair] > 0:
            have[pair] -= 1
        else:
            found.append((pair[0], first))
    covered = {role for role in {role for role, _ in found} if _covered(role, streamed, past)}
    return [first for role, first in found if role not in covered]


def _covered(role, streamed, past):
    """X6: returns whether the last messages of a role have its streamed text."""
    rest = "".join(pair[1] for pair, _ in streamed if pair[0] == role)
    for other, text in reversed(past):
        if not rest:
            break
        if other == role:
            if not rest.endswith(text):
                return False
            rest = rest[:-len(text)]
    return not rest
