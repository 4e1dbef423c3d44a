"""The shared model endpoint as a program of its own, with the scripts that differ here."""

import sys

sys.path.insert(0, "..")

import endpoint
from script import SCRIPTS, TEAM, Wait, count, long_reply

# Every delta is sent with LangGraph's own events; this many stay below one megabyte.
OWN = {"long-stream": count(250), "long-reply": long_reply(each=6)}

# The integration asks LangGraph's server for the messages each time the run enters or leaves an
# agent of the team. The pause lets it ask before the agent has answered.
OWN |= {name: ((Wait(1), *SCRIPTS[name][0]),) for name in TEAM}

if __name__ == "__main__":
    sys.exit(endpoint.main(SCRIPTS | OWN))
