"""Prints the events of a run, one on each line, as the client for Python gets them.

When the connection breaks, it goes on at the last offset. This client does not know that a
stream is closed.
"""

import json
import sys

import httpx
from durable_streams import DurableStreamError, stream

url, live = sys.argv[1:]
offset, ended = "-1", False
while not ended:
    try:
        with stream(url, offset=offset, live=live) as response:
            for batch in response.iter_events("json_batches"):
                for event in batch.data:
                    print(json.dumps(event, separators=(",", ":")), flush=True)
                    ended = event["type"] == "RUN_FINISHED"
                offset = batch.next_offset
                if ended:
                    break
    except (httpx.HTTPError, DurableStreamError):
        pass  # the connection broke
