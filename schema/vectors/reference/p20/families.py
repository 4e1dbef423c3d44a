"""Section 6: names of AG-UI event families."""

NAME_LIMIT = 64  # bytes in UTF-8

EVENT_TYPES = """
RUN_STARTED RUN_FINISHED RUN_ERROR STEP_STARTED STEP_FINISHED
TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END TEXT_MESSAGE_CHUNK
TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_CHUNK TOOL_CALL_RESULT
STATE_SNAPSHOT STATE_DELTA MESSAGES_SNAPSHOT ACTIVITY_SNAPSHOT ACTIVITY_DELTA
RAW CUSTOM REASONING_START REASONING_END REASONING_MESSAGE_START
REASONING_MESSAGE_CONTENT REASONING_MESSAGE_END REASONING_MESSAGE_CHUNK
REASONING_ENCRYPTED_VALUE SUBAGENT_STARTED SUBAGENT_FINISHED SUBAGENT_ERROR
THINKING_START THINKING_END THINKING_TEXT_MESSAGE_START
THINKING_TEXT_MESSAGE_CONTENT THINKING_TEXT_MESSAGE_END META
""".split()

FURTHER = {
    "RAW": "event events rawevent rawevents",
    "STATE_SNAPSHOT": "state states snapshot",
    "STATE_DELTA": "delta deltas patch patches",
    "TOOL_CALL_START": "toolcall toolcalls toolcallid toolcallname parentmessageid",
    "TOOL_CALL_RESULT": "toolcallresult",
    "ACTIVITY_SNAPSHOT": "activity activities activitytype",
    "REASONING_START": "reasoning",
    "REASONING_ENCRYPTED_VALUE": "encryptedvalue encryptedcontent",
    "THINKING_START": "thinking",
    "STEP_STARTED": "step steps stepname",
    "SUBAGENT_STARTED": "subagent subagents subagentrunid",
}


def normal_form(name):
    """Returns an ASCII name in lower case and without _ and -."""
    return name.lower().replace("_", "").replace("-", "")


def _table():
    table = {normal_form(name): name for name in EVENT_TYPES}
    for family, forms in FURTHER.items():
        for form in forms.split():
            table[form] = family
    return table


_FAMILIES = _table()


def family(name):
    """Returns the family that a string names, or None.

    All normal forms are ASCII, and only ASCII characters are changed. So a string that is
    not ASCII names no family; the others have as many bytes as characters.
    """
    if len(name) > NAME_LIMIT or not name.isascii():
        return None
    return _FAMILIES.get(normal_form(name))
