"""Runs the shared model endpoint as a separate program, with one script that differs."""

import sys

sys.path.insert(0, "..")

import endpoint
from script import SCRIPTS, Call, say

# Only the runtime's own tool changes the state.
OWN = {
    "state-change": (
        (
            say("I will add it."),
            Call("AGUISendStateDelta", {"delta": [{"op": "add", "path": "/items/-", "value": "milk"}]}, "call-add"),
        ),
        *SCRIPTS["state-change"][1:],
    )
}

if __name__ == "__main__":
    sys.exit(endpoint.main(SCRIPTS | OWN))
