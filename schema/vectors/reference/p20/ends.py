"""Section 6 of the projections: the two ends of a run."""

from .artifact import LIMITS
from .characters import ANY_CONTROL, WHITE_SPACE, has_half, trim
from .omissions import token
from .traces import trace_begin

# The keys that B8 does not omit, by the type of the event.
TAKEN_KEYS = {
    "RUN_STARTED": ("type", "threadId", "runId", "parentRunId"),
    "RUN_FINISHED": ("type", "threadId", "runId"),
    "RUN_ERROR": ("type", "threadId", "runId", "message", "code"),
    "MESSAGES_SNAPSHOT": ("type", "messages"),
}


def other_keys(ledger, frame, also=()):
    """B8: omits every key that is neither taken nor one of the others given."""
    taken = TAKEN_KEYS[frame.kind]
    for key in frame.value:
        if key not in taken and key not in also:
            ledger.omit(frame.index, token(key), "key_outside_subset")


def parent(ledger, run):
    """B2: returns the parent_run_id_ref, or None."""
    event = run.started.value
    if "parentRunId" not in event:
        return None
    return optional(ledger, event["parentRunId"], run.started.index, "/parentRunId")


def optional(ledger, value, place, pointer):
    """B2, U6: returns a string that may be absent, null or blank, or None."""
    if value is None:
        ledger.reject(place, pointer, "value_null")
    elif type(value) is not str:
        ledger.error("wrong_type")
    elif has_half(value):
        ledger.error("lone_surrogate")
    elif not trim(value):
        ledger.reject(place, pointer, "value_blank")
    else:
        return value
    return None


def error_texts(ledger, run, assay):
    """B4 to B7: returns the error_message and error_code of the artifact."""
    found = {}
    frame = run.terminal
    if frame.kind != "RUN_ERROR":
        return found  # B3
    for name, key in (("message", "error_message"), ("code", "error_code")):
        if name not in frame.value:
            continue
        value = frame.value[name]
        if value is None and name == "code":
            ledger.reject(frame.index, "/code", "value_null")  # B4
        elif type(value) is not str:
            ledger.error("wrong_type")  # B4
        else:
            text = _error_text(ledger, value, frame.index, "/" + name, LIMITS[key], assay)
            if text is not None:
                found[key] = text
    return found


def _error_text(ledger, text, place, pointer, limits, assay):
    """B5 to B7: returns one error text, or None if the artifact has no such key."""
    if not ledger.strict:
        left, reason = shorten(text, limits[1], limits[3] if assay else None)
        if reason is not None:
            ledger.omit(place, pointer, reason)  # B6
        text = left
    if has_half(text):
        ledger.error("lone_surrogate")  # B5, B7
    elif not trim(text):
        ledger.reject(place, pointer, "value_blank")  # B5, B7
    else:
        return text
    return None


def shorten(text, limit, narrow):
    """B6: returns (the rest of an error text, the reason if it was cut)."""
    whole = len(text)
    rest = text.lstrip(WHITE_SPACE)
    if ANY_CONTROL.search(text, 0, whole - len(rest)) is not None:
        text = rest
    end = min(len(text), limit)
    control = ANY_CONTROL.search(text)
    if control is not None:
        end = min(end, control.start())
    reason = None if end == whole else "text_shortened"
    trace = trace_begin(text)
    if trace is not None and trace <= end:
        end = trace
        reason = "error_stack_trace"
    text = text[:end]
    if narrow is not None and len(trim(text)) > narrow:
        blank = len(text) - len(text.lstrip(WHITE_SPACE))
        text = text[:blank + narrow]
        reason = reason or "text_shortened"
    return text, reason
