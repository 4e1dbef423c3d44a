"""Runs the shared model endpoint as a separate program, with the scripts that differ."""

import sys

sys.path.insert(0, "..")

import endpoint
from script import SCRIPTS, Call, say

OWN = {
    # Only the memory's own tool changes the state.
    "state-change": (
        (
            say("I will add it."),
            Call("updateWorkingMemory", {"memory": {"items": ["milk"]}}, "call-add"),
        ),
        *SCRIPTS["state-change"][1:],
    ),
    # Mastra offers subagents to an agent's model as tools. The model of a subagent also gets the
    # messages before its call.
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
