"""Section 11 of the projections: the streamed text, K1 to K15."""

from .artifact import ROLES
from .characters import has_half
from .join import join
from .omissions import Omissions, token
from .strict import spans

ROOM = 50331648
ENTRY = 256  # the fixed cost of a message, an id of a subagent or a lane in bytes
NO_NAME = object()

ABOUT_EVENT = ("type", "timestamp", "rawEvent", "subagentRunId", "messageId")
TAKEN_KEYS = {
    "TEXT_MESSAGE_START": frozenset(ABOUT_EVENT + ("role", "name")),
    "TEXT_MESSAGE_CONTENT": frozenset(ABOUT_EVENT + ("delta",)),
    "TEXT_MESSAGE_END": frozenset(ABOUT_EVENT),
    "TEXT_MESSAGE_CHUNK": frozenset(ABOUT_EVENT + ("role", "name", "delta")),
}
CLOSING_ALL = "RUN_STARTED RUN_FINISHED RUN_ERROR MESSAGES_SNAPSHOT".split()
CLOSING = """
TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_CHUNK TOOL_CALL_RESULT
STATE_SNAPSHOT STATE_DELTA CUSTOM STEP_STARTED STEP_FINISHED REASONING_START
REASONING_END REASONING_MESSAGE_START REASONING_MESSAGE_CONTENT
REASONING_MESSAGE_END REASONING_MESSAGE_CHUNK SUBAGENT_FINISHED SUBAGENT_ERROR
""".split()


class Streamed:
    """One streamed message; `first` is the index of the event that began it."""

    __slots__ = ("id", "role", "name", "first", "deltas", "is_open")

    def __init__(self, id_, role, name, first):
        self.id = id_
        self.role = role
        self.name = name
        self.first = first
        self.deltas = []
        self.is_open = False

    @property
    def is_named(self):
        """K4: returns whether the event that began the message has a name, including null."""
        return self.name is not NO_NAME

    @property
    def text(self):
        """K14: returns the text."""
        return join(self.deltas)


def _tag(event):
    """K1: returns the tag of an event, or None."""
    tag = event.get("subagentRunId")
    if tag is None or type(tag) is str:
        return tag
    return ""


def _role(event):
    """K5: returns the role of an event."""
    role = event.get("role")
    if role is None:
        return "assistant"
    return role if type(role) is str else ""


def _size(text):
    """K15: returns the number of bytes of an id or tag; a half has three."""
    return len(text.encode("utf-8", "surrogatepass"))


def _differ(one, other):
    """K4: returns whether two names differ in JSON type or, if both are strings, in value.

    All numbers have the same type.
    """
    if type(one) is str and type(other) is str:
        return one != other
    return _type(one) != _type(other)


def _type(value):
    if value is True or value is False or value is None:
        return repr(value)
    return "number" if type(value) in (int, float) else type(value).__name__


class Fold:
    """Folds the events of a run.

    `messages` has the streamed messages by id, in the order of their start;
    `codes` has the findings, `omissions` the omissions of K2, K4 and K13.
    """

    def __init__(self, frames):
        self.messages = {}
        self.codes = set()
        self.omissions = Omissions()
        self.subagent_ids = set()
        self.lanes = set()
        self.current = None
        self.left = ROOM
        self.full = False
        # No event costs more than its own bytes and two entries, so most runs need not
        # be measured.
        self.measured = sum(len(frame.data) + 2 * ENTRY for frame in frames) > ROOM
        steps = {
            "TEXT_MESSAGE_START": self._text_event,
            "TEXT_MESSAGE_CONTENT": self._text_event,
            "TEXT_MESSAGE_END": self._text_event,
            "TEXT_MESSAGE_CHUNK": self._chunk,
        }
        for kind in CLOSING_ALL:
            steps[kind] = self._close_all
        for kind in CLOSING:
            steps[kind] = self._leave
        for frame in frames:
            step = steps.get(frame.kind)  # K12: all others do nothing
            if step is not None:
                step(frame, frame.value)

    def _fits(self, size):
        """K15: spends bytes of the budget, or adds the finding that it is exceeded."""
        if not self.measured:
            return True
        if not self.full and size > self.left:
            self.full = True
            self.codes.add("file_too_large")  # K15
        if self.full:
            return False
        self.left -= size
        return True

    def _spelled(self, frame, keys):
        """K15: returns the number of bytes of the JSON text of keys of an event."""
        if not self.measured:
            return 0
        found = spans(frame.data)
        return sum(found[key][1] - found[key][0] for key in keys if key in found)

    # Ends of streams

    def _close_all(self, frame, event):
        """K12: closes all lanes and ends the current message."""
        self.lanes.clear()
        self.current = None

    def _leave(self, frame, event):
        """K3: ends the chunks of the event's stream."""
        tag = _tag(event)
        if tag is None:
            self.current = None
        else:
            self.lanes.discard(tag)

    # Owners of events

    def _is_own(self, frame, event):
        """K2: returns whether a text event with an id is the run's own."""
        id_ = event.get("messageId")
        if type(id_) is not str or has_half(id_):
            self.codes.add("event_field_malformed")  # K2 step 1
            return False
        if id_ in self.subagent_ids:
            return False  # K2 step 2
        if _tag(event) is None:
            return True
        self.omissions.add(frame.index, "", "subagent_text")  # K2 step 3
        if id_ not in self.messages and self._fits(ENTRY + _size(id_)):
            self.subagent_ids.add(id_)
        return False

    # Messages

    def _text_event(self, frame, event):
        """K6 to K8: handles START, CONTENT and END."""
        self._leave(frame, event)  # K3
        if not self._is_own(frame, event):
            return
        kind = frame.kind
        if kind == "TEXT_MESSAGE_START":
            message = self._begin(frame, event, event["messageId"])
            if message is None:
                return
            message.is_open = True  # K6
        else:
            message = self.messages.get(event["messageId"])
            if message is None or not message.is_open:
                self.codes.add("text_event_not_open")  # K7
                return
            if kind == "TEXT_MESSAGE_END":
                message.is_open = False  # K8
            elif type(event.get("delta")) is str:
                self._add(frame, event, message)  # K8
            else:
                self.codes.add("event_field_malformed")  # K8
        self._other_keys(frame, event)

    def _chunk(self, frame, event):
        """K9 to K11: handles CHUNK."""
        tag = _tag(event)
        if event.get("messageId") is not None:
            if self._is_own(frame, event):
                message = self._begin(frame, event, event["messageId"])
                if message is not None:
                    self.current = message  # K9
                    self._chunk_text(frame, event, message)
            elif tag is not None and tag not in self.lanes:
                if self._fits(ENTRY + _size(tag)):
                    self.lanes.add(tag)  # K9
            return
        if tag is not None:  # K10
            if tag not in self.lanes:
                self.codes.add("text_event_not_open")
        elif self.current is not None:
            self._continue(frame, event, self.current)
            self._chunk_text(frame, event, self.current)
        elif len(self.lanes) != 1:
            self.codes.add("text_event_not_open")

    def _chunk_text(self, frame, event, message):
        """K11: adds the delta of a chunk."""
        if type(event.get("delta")) is str:
            self._add(frame, event, message)
        elif "delta" in event:
            self.codes.add("event_field_malformed")
        self._other_keys(frame, event)

    def _begin(self, frame, event, id_):
        """K4: begins or continues the message of an id and returns it, or None past the budget."""
        message = self.messages.get(id_)
        if message is not None:
            self._continue(frame, event, message)
            return message
        size = ENTRY + self._spelled(frame, ("role", "name"))
        if self.measured:
            size += _size(id_)
        if not self._fits(size):
            return None
        message = Streamed(id_, _role(event), event.get("name", NO_NAME), frame.index)
        self.messages[id_] = message
        return message

    def _continue(self, frame, event, message):
        """K4: checks the role and name of an event that continues a message."""
        if "role" in event and _role(event) != message.role:
            self.codes.add("message_has_two_speakers")
        elif "name" in event:
            if not message.is_named:
                self.omissions.add(frame.index, "/name", "key_outside_subset")
            elif _differ(event["name"], message.name):
                self.codes.add("message_has_two_speakers")

    def _add(self, frame, event, message):
        """K14: adds a delta to a message."""
        if message.role in ROLES and self._fits(self._spelled(frame, ("delta",))):
            message.deltas.append(event["delta"])

    def _other_keys(self, frame, event):
        """K13: omits the other keys of an event."""
        taken = TAKEN_KEYS[frame.kind]
        for key in event:
            if key not in taken:
                self.omissions.add(frame.index, token(key), "key_outside_subset")
