"""Runs the shared model endpoint as a separate program, with the scripts that differ."""

import sys

sys.path.insert(0, "..")

import endpoint
from script import SCRIPTS, TEAM, Wait, count, long_reply

# Each delta is sent with LangGraph's own events. This number keeps the response below one megabyte.
OWN = {"long-stream": count(250), "long-reply": long_reply(each=6)}

# The integration requests the messages from LangGraph's server whenever the run enters or leaves an
# agent of the team. The pause lets it do so before the agent has answered.
OWN |= {name: ((Wait(1), *SCRIPTS[name][0]),) for name in TEAM}

if __name__ == "__main__":
    sys.exit(endpoint.main(SCRIPTS | OWN))
