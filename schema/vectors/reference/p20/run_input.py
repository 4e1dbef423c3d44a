"""Section 10 of the projections: the request of the run."""

from .characters import trim
from .messages import read_messages
from .omissions import REQUEST, token
from .strict import Broken, read

MAX_REQUEST = 67108864
OWN_KEYS = ("messages", "threadId", "runId")


class Request:
    """A request.json, read strictly once; `fault` is the code of Q3."""

    def __init__(self, data):
        self.fault = self.value = None
        if len(data) > MAX_REQUEST:
            self.fault = "file_too_large"  # I3 step 2, X4
            return
        try:
            self.value = read(data)
        except Broken as broken:
            self.fault = broken.code


def messages_of(value):
    """Q4: returns the messages of a run input, or None."""
    messages = value.get("messages") if type(value) is dict else None
    return messages if type(messages) is list else None


def other_run(value, run):
    """Q5: returns the key by which a run input names another run, or None."""
    if "runId" in value and value["runId"] != run.id:
        return "runId"
    if "threadId" in value and value["threadId"] != run.thread:
        return "threadId"
    return None


def input_of(run):
    """Q2: returns the input in RUN_STARTED, or None."""
    return run.started.value.get("input")


class RunInput:
    """The result of section 10 for a run: messages, and the ids of Q7."""

    def __init__(self, ledger, run, request):
        self.messages = []
        self.ids = frozenset()
        if request is not None:
            if request.fault is not None:
                ledger.error(request.fault)  # Q3
            else:
                self._read(ledger, run, request.value, REQUEST, "")
            return
        ledger.omit(REQUEST, "", "request_absent")  # Q2
        value = input_of(run)
        if value is not None:
            self._read(ledger, run, value, run.started.index, "/input")

    def _read(self, ledger, run, value, place, base):
        """Q4 to Q7: reads the messages of a run input."""
        listed = messages_of(value)
        if listed is None:
            ledger.error("request_malformed")  # Q4
            return
        other = other_run(value, run)
        if other is not None:
            ledger.omit(place, base + "/" + other, "request_names_other_run")  # Q5
            return
        self.messages = read_messages(ledger, listed, place, base + "/messages", "request_malformed")  # Q6
        for key in value:
            if key not in OWN_KEYS:
                ledger.omit(place, base + token(key), "key_outside_subset")  # Q6
        ids = (message.get("id") for message in listed if type(message) is dict)
        self.ids = frozenset(trim(id_) for id_ in ids if type(id_) is str)  # Q7
