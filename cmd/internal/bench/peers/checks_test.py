"""Tests checks.py with the standard library's reader of JSON."""

import hashlib
import json
import os
import tempfile
import unittest

import checks


class Reader:
    read = staticmethod(json.loads)

    @staticmethod
    def kind_of(event):
        return event["type"]

    @staticmethod
    def members(event):
        return event

    @staticmethod
    def dump(result):
        return json.dumps(result).encode()

    @staticmethod
    def write(artifact):
        return json.dumps(artifact, ensure_ascii=False, indent=2).encode() + b"\n"


STARTED = '{"type":"RUN_STARTED","threadId":"t","runId":"r","timestamp":1767225600000}'
CONTENT = '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hi."}'
SNAPSHOT = '{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","name":"n","content":"Hi \\ud83d\\ude00"}]}'
FINISHED = '{"type":"RUN_FINISHED","threadId":"t","runId":"r","timestamp":1767225600250}'
RUN = [STARTED, CONTENT, SNAPSHOT, FINISHED]

ARTIFACT = """{
  "schema": "ag-ui.compacted-message-snapshot.export.v1",
  "framework": "ag_ui",
  "surface": "compacted_message_snapshot_artifact",
  "thread_id_ref": "t",
  "run_id_ref": "r",
  "started_at": "2026-01-01T00:00:00Z",
  "finished_at": "2026-01-01T00:00:00.250000Z",
  "messages": [
    {
      "id": "m",
      "role": "assistant",
      "content": "Hi 😀",
      "name": "n"
    }
  ],
  "terminal_event": "RUN_FINISHED"
}
"""


def freeze(stream):
    """Returns the row of a stream, which is given as bytes."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "run.sse")
        with open(path, "wb") as file:
            file.write(stream)
        frozen, line = checks.row((path, Reader, None, True))
        result = json.loads(line)
        assert frozen == (result["verdict"] == "frozen")
        return result


def stream(events, end="\n"):
    return "".join(f"data: {event}{end}{end}" for event in events).encode()


class Checks(unittest.TestCase):
    def test_frozen(self):
        for text in (stream(RUN), stream(RUN, "\r\n"), b": ping\n\n" + stream(RUN).replace(b",", b",\ndata: ")):
            row = freeze(text)
            self.assertEqual(row.get("artifact_json"), ARTIFACT, row)
            self.assertEqual(row["events"], 4)
            self.assertEqual(row["capture_digest"], "sha256:" + hashlib.sha256(text).hexdigest())
        self.assertEqual(freeze(stream(RUN))["envelope_ndjson"], f"{STARTED}\n{SNAPSHOT}\n{FINISHED}\n")

    def test_refused(self):
        for text in (
            stream(RUN)[:-1],
            stream(RUN[:3]),
            stream(RUN[1:]),
            stream(RUN + [CONTENT]),
            stream([STARTED] + RUN),
            stream([STARTED, SNAPSHOT, SNAPSHOT, FINISHED]),
            stream([STARTED, CONTENT, FINISHED]),
            stream([STARTED, SNAPSHOT.replace('"name"', '"label"'), FINISHED]),
            stream([STARTED, SNAPSHOT.replace('"assistant"', '"nobody"'), FINISHED]),
            stream([STARTED, SNAPSHOT, FINISHED.replace('"r"', '"q"')]),
            stream([STARTED, "{", SNAPSHOT, FINISHED]),
        ):
            self.assertEqual(freeze(text)["verdict"], "refused", text)

    def test_list(self):
        with tempfile.TemporaryDirectory() as directory:
            paths = [os.path.join(directory, f"{i}.sse") for i in range(3)]
            for i, path in enumerate(paths):
                with open(path, "wb") as file:
                    file.write(stream(RUN[:3] if i == 1 else RUN))
            rows = [json.loads(checks.row((path, Reader, None, False))[1]) for path in paths]
        self.assertEqual([row["verdict"] for row in rows], ["frozen", "refused", "frozen"])
        self.assertNotIn("artifact_json", rows[0])


if __name__ == "__main__":
    unittest.main()
