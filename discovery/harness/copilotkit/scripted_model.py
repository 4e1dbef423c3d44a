"""The shared model endpoint as a program of its own, with the one script that differs here."""

import sys

sys.path.insert(0, "..")

import endpoint
from script import SCRIPTS, Call, say

# The runtime's own tool is the one that changes the state; what other tools return does not.
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
