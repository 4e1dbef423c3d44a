// Freezes captures of one run each, as the program does under emitted-snapshot. It reads
// events with the schemas of @ag-ui/core, and checks their order with verifyEvents of
// @ag-ui/client. Each capture becomes one line of JSON. The exit status is 1 if a capture was
// refused.
//
//	node freeze.mjs DIRECTORY [--started-at TIME] CAPTURE...
//
// DIRECTORY has the client's node_modules.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [directory, ...rest] = process.argv.slice(2);
const require = createRequire(resolve(directory) + "/");
const { verifyEvents } = require("@ag-ui/client");
const { EventSchema } = require("@ag-ui/core/schemas");
const { Subject } = require("rxjs");

const sha256 = (bytes) => "sha256:" + createHash("sha256").update(bytes).digest("hex");
const roles = new Set(["assistant", "developer", "system", "tool", "user"]);
const keys = ["id", "role", "content", "name"];

class Refused extends Error {}

// frames yields the data of each event of a stream, and passes its bytes to update.
async function* frames(path, update) {
  const prefix = Buffer.from("data:");
  let left = Buffer.alloc(0);
  let data = null;
  for await (let chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    update(chunk);
    if (left.length > 0) chunk = Buffer.concat([left, chunk]);
    const found = [];
    let start = 0;
    for (let end; (end = chunk.indexOf(10, start)) >= 0; start = end + 1) {
      const stop = end > start && chunk[end - 1] === 13 ? end - 1 : end;
      if (stop === start) {
        if (data !== null) found.push(data);
        data = null;
      } else if (chunk.compare(prefix, 0, 5, start, Math.min(start + 5, stop)) === 0) {
        const value = chunk.subarray(start + (chunk[start + 5] === 32 ? 6 : 5), stop);
        data = data === null ? value : Buffer.concat([data, Buffer.from("\n"), value]);
      }
    }
    left = chunk.subarray(start);
    yield found;
  }
  if (data !== null || left.length > 0) throw new Refused("the stream is truncated");
}

const time = (event, given) =>
  event.timestamp === undefined ? given : new Date(event.timestamp).toISOString().replace(".000Z", "Z").replace(/(\.\d{3})Z/, "$1000Z");

const checkMessages = (messages) => {
  if (messages.length === 0 || messages.length > 2000) throw new Refused("the snapshot has no message, or too many");
  const ids = new Set();
  return messages.map((message) => {
    for (const [key, value] of Object.entries(message)) {
      if (!keys.includes(key)) throw new Refused("a message has other keys than id, role, content and name");
      if (typeof value !== "string") throw new Refused("a message has a value that is not text");
    }
    if (message.content === undefined) throw new Refused("a message has no content");
    if (!roles.has(message.role)) throw new Refused("a message has an unknown role");
    if (ids.has(message.id) || message.id.trim() === "") throw new Refused("a message has the id of another, or none");
    if (message.content.length > 262144) throw new Refused("a message is too long");
    ids.add(message.id);
    return Object.fromEntries(keys.filter((key) => key in message).map((key) => [key, message[key]]));
  });
};

const freeze = async (path, startedAt) => {
  const digest = createHash("sha256");
  let started, snapshot, terminal, failure;
  let count = 0;
  const source = new Subject();
  source.pipe(verifyEvents()).subscribe({ error: (error) => (failure = error) });
  for await (const found of frames(path, (chunk) => digest.update(chunk))) {
    for (const data of found) {
      const event = EventSchema.parse(JSON.parse(data.toString()));
      count++;
      source.next(event);
      if (failure) throw failure;
      if (terminal) throw new Refused("the run goes on after its end");
      switch (event.type) {
        case "RUN_STARTED":
          if (started) throw new Refused("there are several runs");
          started = { event, data: Buffer.from(data) };
          break;
        case "MESSAGES_SNAPSHOT":
          if (snapshot) throw new Refused("there are several snapshots");
          snapshot = { event, data: Buffer.from(data) };
          break;
        case "RUN_FINISHED":
        case "RUN_ERROR":
          terminal = { event, data: Buffer.from(data) };
      }
    }
  }
  if (!started || !snapshot || !terminal) throw new Refused("the run has no start, no snapshot or no end");
  source.complete();
  if (failure) throw failure;
  const { threadId, runId } = started.event;
  if ((terminal.event.threadId ?? threadId) !== threadId || (terminal.event.runId ?? runId) !== runId) {
    throw new Refused("the terminal event names another run");
  }
  const value = {
    schema: "ag-ui.compacted-message-snapshot.export.v1",
    framework: "ag_ui",
    surface: "compacted_message_snapshot_artifact",
    thread_id_ref: threadId,
    run_id_ref: runId,
    started_at: time(started.event, startedAt),
    finished_at: time(terminal.event, undefined),
    messages: checkMessages(snapshot.event.messages),
    terminal_event: terminal.event.type,
    error_code: terminal.event.code,
    error_message: terminal.event.message,
  };
  if (value.started_at === undefined) throw new Refused("the run has no time");
  const artifact = JSON.stringify(value, null, 2) + "\n";
  const newline = Buffer.from("\n");
  const envelope = Buffer.concat([started, snapshot, terminal].flatMap(({ data }) => [data, newline]));
  return {
    capture: path,
    verdict: "frozen",
    events: count,
    capture_digest: "sha256:" + digest.digest("hex"),
    artifact_digest: sha256(artifact),
    envelope_digest: sha256(envelope),
  };
};

let startedAt;
if (rest[0] === "--started-at") [, startedAt] = rest.splice(0, 2);
for (const path of rest) {
  let row;
  try {
    row = await freeze(path, startedAt);
  } catch (error) {
    row = { capture: path, verdict: "refused", reason: String(error.message).slice(0, 200) };
    process.exitCode = 1;
  }
  process.stdout.write(JSON.stringify(row) + "\n");
}
