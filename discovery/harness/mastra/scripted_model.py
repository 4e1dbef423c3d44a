"""The shared model endpoint as a program of its own, with the scripts that differ here."""

import sys

sys.path.insert(0, "..")

import endpoint
from script import SCRIPTS, Call, say

OWN = {
    # The memory's own tool is the one that changes the state.
    "state-change": (
        (
            say("I will add it."),
            Call("updateWorkingMemory", {"memory": {"items": ["milk"]}}, "call-add"),
        ),
        *SCRIPTS["state-change"][1:],
    ),
    # Mastra gives each agent of an agent to its model as a tool, and the model of such an agent the
    # messages before its call along.
    "researcher": SCRIPTS["researcher"] * 2,
    "writer": SCRIPTS["writer"] * 3,
    "two-agents": (
        (Call("agent-researcher", {"prompt": "How were fjords made?"}, "call-researcher"),),
        (Call("agent-writer", {"prompt": "Fjords were carved by glaciers."}, "call-writer"),),
        (),
    ),
}

if __name__ == "__main__":
    sys.exit(endpoint.main(SCRIPTS | OWN))
