"""What the models say: one script for each scenario, played by every harness in its own way."""

import json
from dataclasses import dataclass
from typing import Any


class ScriptedFailure(Exception):
    """The failure a script asks for. Its text reaches the client in RUN_ERROR."""


@dataclass(frozen=True)
class Say:
    """Text, one streamed delta per chunk, each followed by `pause` seconds."""

    chunks: tuple[str, ...]
    pause: float = 0.003


@dataclass(frozen=True)
class Think(Say):
    """Like Say, as reasoning."""


@dataclass(frozen=True)
class Call:
    """A call of the tool `name`; `id` is for models that choose it."""

    name: str
    args: dict[str, Any]
    id: str

    def pieces(self) -> tuple[str, str]:
        """The arguments' JSON in two pieces, as providers stream it."""
        text = json.dumps(self.args)
        return text[: len(text) // 2], text[len(text) // 2 :]


@dataclass(frozen=True)
class Wait:
    """Silence."""

    seconds: float


@dataclass(frozen=True)
class Fail:
    """A failure of the model."""

    message: str


Step = Say | Call | Wait | Fail
Turn = tuple[Step, ...]
Script = tuple[Turn, ...]


def words(text: str) -> tuple[str, ...]:
    """The text word by word; the chunks joined are the text."""
    first, *rest = text.split(" ")
    return (first, *(" " + word for word in rest))


def say(text: str) -> Say:
    """Text streamed word by word."""
    return Say(words(text))


def think(text: str) -> Think:
    """Reasoning streamed word by word."""
    return Think(words(text))


def count(deltas: int) -> Script:
    """Numbers, one a delta; an integration whose events are large takes fewer."""
    return ((Say(tuple(f"{n} " for n in range(deltas - 1)) + (str(deltas - 1),), pause=0),),)


def turn(script: Script, done: int) -> Turn:
    """The turn after `done` others.

    How many are done follows from the request alone, so nothing is kept between
    calls and the same requests give the same replies in any process.
    """
    if done >= len(script):
        raise ScriptedFailure(f"the script has {len(script)} turns, turn {done + 1} was asked for")
    return script[done]


# Written as escapes because most of these cannot be seen, or would change how this file is shown.
UNICODE_CHUNKS = (
    "emoji: \U0001F600 family: \U0001F468\u200d",  # the ZWJ sequence is cut across two deltas
    "\U0001F469\u200d\U0001F467 flag: \U0001F1F3",  # and so is the flag
    "\U0001F1F4 skin: \U0001F44B\U0001F3FD",
    " astral: \U00010348 \U0001D11E \U00020BB7 \U0010FFFD",
    " combining: e",
    "\u0301 o\u0308 Z\u0351\u036B\u0343",  # the first mark arrives without its base letter
    " lines: a\r\nb\nc\rd",
    " separators: \u2028|\u2029|\u0085|\u000b|\u000c",
    " invisible: \uFEFF|\u200b|\u00ad",
    " controls: \u0000|\u0001|\u001b[31mred\u001b[0m|\u007f|\u009b",
    " markup: </script><!-- &amp; \"quoted\" back\\slash",
    " bidi: \u202Etxet desrever\u202C \u2066isolate\u2069",
    " last: \uFFFD \uFFFE \uE000",
)

# By the path of the scenario's request; but in "two-agents" the two of TEAM answer in turn.
SCRIPTS: dict[str, Script] = {
    "one-turn": ((say("The capital of France is Paris."),),),
    "three-turns": (
        (say("Oslo is the capital of Norway."),),
        (say("About 720,000 people live there."),),
        (say("The Akerselva runs through it."),),
    ),
    "backend-tool": (
        (Call("get_weather", {"city": "Oslo"}, "call-weather"),),
        (say("It rains in Oslo, at 4 degrees."),),
    ),
    "state-change": (
        (say("I will add it."), Call("add_item", {"item": "milk"}, "call-add")),
        (say("Milk is on the list."),),
    ),
    "reasoning": (
        (
            think("17 is not divisible by 2 or 3, and 5 times 5 is more than 17."),
            say("Yes, 17 is a prime number."),
        ),
    ),
    "model-error": ((say("The first part of the answer"), Fail("scripted model failure")),),
    "long-stream": count(3000),
    "unicode": ((Say(UNICODE_CHUNKS),),),
    "researcher": ((say("Fjords were carved by glaciers."),),),
    "writer": ((say("Ice made the fjords."),),),
    "client-tool": (
        (say("Let me ask you."), Call("choose_color", {"options": ["red", "blue"]}, "call-color")),
    ),
    "confirmation": ((Call("delete_file", {"path": "notes.txt"}, "call-delete"),),),
    "parent-run": ((say("This run has a parent."),),),
    "snapshot-off": ((say("No snapshot follows this text."),),),
    "empty-reply": ((),),
    "multimodal": ((say("The picture is one red pixel."),),),
    "keep-alive": ((Wait(17), say("Thank you for waiting.")),),
    "refused": ((say("A refused request never gets here."),),),
}

TEAM = ("researcher", "writer")
ALONE = tuple(path for path in SCRIPTS if path not in TEAM)
