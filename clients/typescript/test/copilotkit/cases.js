// What trials are too short for.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { AbstractAgent } from "@ag-ui/client";
import { InMemoryAgentRunner } from "@copilotkit/runtime/v2";
import { concat, from, tap, throwError } from "rxjs";

import { ThreadRunner } from "../../src/copilotkit.js";
import { Painter, request } from "./agent.js";
import { checkRun, collect, readLog } from "./checks.js";
import { Serve } from "./processes.js";
import { Proxy } from "./proxy.js";

/** Lets an agent answer up to the middle of a sentence, where it waits until it is aborted. */
function held(runner, threadId, runId) {
  const spec = { threadId, runId, content: "Hello!" };
  return new Promise((resolve) => {
    const agent = new Painter(async ({ delta }, signal) => {
      if (delta !== "letters ") return;
      resolve({ signal, result });
      await once(signal, "abort");
    });
    const result = collect(runner.run(request(agent, spec)), spec);
  });
}

/**
 * An agent is silent for longer than serve waits for its producer, and then goes on. Another is
 * stopped from elsewhere while it is silent. serve asks for a token.
 */
export async function silence(program, directory) {
  const [token, tokens] = ["0123456789abcdef", join(directory, "tokens")];
  writeFileSync(tokens, `default sha256:${createHash("sha256").update(token).digest("hex")} append\n`, { mode: 0o600 });
  const serve = new Serve(program, join(directory, "silence.db"), "--append-timeout", "16s", "--token-file", tokens);
  serve.headers = { Authorization: `Bearer ${token}` };
  await serve.during(async () => {
    const proxy = new Proxy(serve.url, () => 0.5); // without faults
    const url = await proxy.start();
    const [runner, elsewhere] = [new ThreadRunner(url, serve), new ThreadRunner(url, serve)];
    let empty = 0;
    const heard = new Promise((resolve) => {
      proxy.watch = async (moment, body) => {
        if (moment === "after" && body.startsWith(`{"runId":"patient"`) && body.endsWith(`"events":[]}`) && ++empty === 2) resolve();
      };
    });
    const patient = { threadId: "patient", runId: "patient", content: "Hello!" };
    const waiting = collect(runner.run(request(new Painter(({ delta }) => delta === "letters " && heard), patient)), patient);
    const { signal, result } = await held(runner, "stopped", "run");
    assert(await elsewhere.isRunning({ threadId: "stopped" }));
    assert.equal(await elsewhere.stop({ threadId: "stopped", runId: "other" }), false);
    assert(await elsewhere.stop({ threadId: "stopped", runId: "run" }));
    const stopped = await result;
    assert(signal.aborted);
    const logged = (await readLog(serve, "stopped")).get("run");
    checkRun(logged, { ...stopped, killed: true });
    assert.deepEqual(stopped.events, logged);
    const waited = await waiting;
    checkRun((await readLog(serve, "patient")).get("patient"), waited);
    proxy.stop();
  });
}

/** The log is replaced by an older copy, without events that a reader and a runner know of. */
export async function lost(program, directory) {
  const [file, copy] = [join(directory, "lost.db"), join(directory, "copy.db")];
  const serve = new Serve(program, file);
  await serve.start();
  await serve.end("SIGTERM");
  copyFileSync(file, copy);
  await serve.during(async () => {
    const runner = new ThreadRunner(serve.url);
    const { signal, result } = await held(runner, "lost", "run");
    let joined;
    await new Promise((resolve) => {
      joined = collect(runner.connect({ threadId: "lost" }).pipe(tap(resolve)));
    });
    await serve.end("SIGKILL");
    for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true });
    copyFileSync(copy, file);
    await serve.start();
    assert.equal((await joined).error, "the server has lost events of this run, so it cannot be continued: connect to the thread again");
    const { events, error } = await result;
    assert.match(error, /^409 sequence_gap: the log lacks events that precede the batch/);
    assert.deepEqual(events.at(-1), { type: "RUN_ERROR", message: error });
    assert(signal.aborted);
  });
}

/** An agent that sends events at once, and then ends or fails. */
class Odd extends AbstractAgent {
  constructor(events, error) {
    super();
    this.events = events;
    this.error = error;
  }

  run() {
    return concat(from(this.events), this.error ? throwError(() => new Error(this.error)) : []);
  }
}

/** Agents end, fail and are stopped in odd ways. Runs end as with InMemoryAgentRunner. */
export async function oddities(program, directory) {
  const started = { type: "RUN_STARTED", threadId: "of the agent", runId: "of the agent" };
  const finished = { ...started, type: "RUN_FINISHED" };
  const open = [started, { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" }, { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "count" }];
  const many = Array.from({ length: 2500 }, (_, i) => ({ type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: `${i}\ud83d` }));
  const ended = { type: "TEXT_MESSAGE_END", messageId: "m" };
  const agents = {
    "fails at once": [[], "no model"],
    "sends nothing": [[]],
    "begins in the middle": [open.slice(1)],
    "fails in the middle": [open, "no model"],
    "ends in the middle": [open],
    "goes on after its end": [[...open.slice(0, 2), ended, finished, started, finished]],
    "sends many events": [[...open.slice(0, 2), ...many, ended, finished]],
  };
  const serve = new Serve(program, join(directory, "odd.db"));
  await serve.during(async () => {
    const [ours, theirs] = [new ThreadRunner(serve.url), new InMemoryAgentRunner()];
    for (const [name, agent] of Object.entries(agents)) {
      const spec = { threadId: name, runId: "run", content: "Hello!" };
      const [got, want] = await Promise.all([ours, theirs].map((runner) => collect(runner.run(request(new Odd(...agent), spec)))));
      assert.deepEqual(comparable(got), comparable(want), name);
      assert.deepEqual((await readLog(serve, name)).get("run"), got.events, name);
    }
    const [got, want] = await Promise.all([ours, theirs].map(async (runner) => {
      const { result } = await held(runner, "stopped", "run");
      assert(await runner.stop({ threadId: "stopped" }));
      return result;
    }));
    assert.deepEqual(comparable(got), comparable(want));
    assert.deepEqual((await readLog(serve, "stopped")).get("run"), got.events);
  });
}

/** Returns what two runners must have in common: ThreadRunner has its own RUN_STARTED and ids. */
function comparable({ events, done }) {
  assert(done);
  const end = events.findIndex(({ type }) => type === "RUN_FINISHED" || type === "RUN_ERROR");
  return events.slice(0, end + 1).filter(({ type }) => type !== "RUN_STARTED").map((event) => (event.type === "RUN_FINISHED" ? event.type : event));
}
