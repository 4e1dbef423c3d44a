// Trials of ThreadRunner: trials.js PROGRAM [TRIALS] [SEED].
//
// In each trial, agents run in a thread, behind a proxy that loses, repeats and delays requests.
// Their runtime and serve are killed at random moments, other runtimes join, and rivals try to
// run agents in the same thread. Afterwards the log must have each event once and in order.
import "./quiet.js";

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { AbstractAgent } from "@ag-ui/client";
import { from } from "rxjs";

import { ThreadRunner } from "../../copilotkit.js";
import { Painter, answer, request } from "./agent.js";
import { Proxy } from "./proxy.js";
import { generator } from "./random.js";

const [program, trials = "100", seed = String(Math.floor(Math.random() * 2 ** 31))] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), "p20export-trials-"));
const counts = { runs: 0, batches: 0, readers: 0, refused: 0, killedRuntimes: 0, killedServes: 0 };

/** serve, which can be started again at the same address. */
class Serve {
  address = "127.0.0.1:0";
  headers = {};
  #flags;

  /** @param {string} file The log. @param {string[]} flags */
  constructor(file, ...flags) {
    this.#flags = ["--store", `sqlite:${join(directory, file)}`, "--allow-append", ...flags];
  }

  async start() {
    this.process = spawn(program, ["serve", "--listen", this.address, ...this.#flags], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    for await (const line of createInterface(this.process.stderr)) {
      said += `${line}\n`;
      if (!line.includes(`"msg":"listening"`)) continue;
      this.address = JSON.parse(line).address;
      this.process.stderr.resume();
      return;
    }
    throw new Error(`serve does not start: ${said}`);
  }

  async kill() {
    const exited = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill("SIGKILL");
    await exited;
  }

  /** Returns the body of an answer. */
  async get(threadId, what) {
    const response = await fetch(`http://${this.address}/threads/${encodeURIComponent(threadId)}/${what}`, { headers: this.headers });
    assert.equal(response.status, 200);
    return response.text();
  }
}

/** A process with a ThreadRunner. */
class Runtime {
  #runs = new Map();

  constructor(server) {
    this.process = spawn(process.execPath, [join(import.meta.dirname, "producer.js"), server], { stdio: ["pipe", "pipe", "inherit"] });
    createInterface(this.process.stdout).on("line", (line) => {
      const message = JSON.parse(line);
      this.#runs.get(message.runId)(message);
    });
    this.process.once("close", () => this.#runs.forEach((tell) => tell({ killed: true })));
  }

  /** Lets an agent answer. Returns the events that the runner emits, and how the run ended. */
  run(spec, onEvent) {
    const events = [];
    return new Promise((resolve) => {
      this.#runs.set(spec.runId, ({ event, ...end }) => {
        if (event === undefined) return resolve({ spec, events, ...end });
        events.push(event);
        onEvent(events.length);
      });
      this.process.stdin.write(`${JSON.stringify(spec)}\n`);
    });
  }

  kill() {
    this.process.kill("SIGKILL");
  }
}

/** Returns the events of an observable, and how it ended. */
function collect(observable, spec) {
  const events = [];
  return new Promise((resolve) => {
    observable.subscribe({
      next: (event) => events.push(event),
      error: (error) => resolve({ spec, events, error: error.message }),
      complete: () => resolve({ spec, events, done: true }),
    });
  });
}

/** An agent whose events are given. */
class Recorded extends AbstractAgent {
  constructor(events) {
    super();
    this.events = events;
  }

  connect() {
    return from(this.events);
  }
}

/** Returns the messages that the client of CopilotKit makes of events. */
async function reduce(events) {
  const agent = new Recorded(events);
  await agent.connectAgent();
  return plain(agent.messages);
}

/** Returns what JSON has of a value. */
const plain = (value) => JSON.parse(JSON.stringify(value));

const starts = (type) => type === "TEXT_MESSAGE_START" || type === "TOOL_CALL_START";
const ends = (type) => type === "RUN_FINISHED" || type === "RUN_ERROR";

/** Returns the events of each run of a thread in the log. */
async function readLog(serve, threadId) {
  const runs = new Map();
  let open; // the events of the run that has begun
  for (const [, data] of (await serve.get(threadId, "events?follow=false")).matchAll(/^data: (.*)$/gm)) {
    const event = JSON.parse(data);
    if (event.type === "RUN_STARTED") {
      assert.equal(open, undefined, "a run begins before the last one has ended");
      assert(!runs.has(event.runId), "a run begins twice");
      runs.set(event.runId, (open = []));
    }
    assert(open, `${event.type} follows the end of a run`);
    delete event.outcome; // CopilotKit's client refuses that of a cancelled run
    open.push(event);
    if (ends(event.type)) open = undefined;
  }
  assert.equal(open, undefined, "a run is open");
  return runs;
}

/** Checks what the log has of a run that was made, and what its runner has emitted. */
function checkRun(logged, { spec, events, done, error, killed }) {
  assert(done || killed, `the run failed: ${error}`);
  if (killed && logged === undefined) return assert.deepEqual(events, []);
  assert.deepEqual(events, logged.slice(0, events.length));
  const whole = [...answer(request(new Painter(), spec).input)];
  const same = logged.findIndex((event, i) => JSON.stringify(event) !== JSON.stringify(whole[i]));
  if (same === -1) return assert.equal(logged.length, whole.length);
  assert(killed, "a run ends early whose runtime was not killed");
  assert(logged.slice(same, -1).every(({ type }) => type === "TEXT_MESSAGE_END" || type === "TOOL_CALL_END"));
  assert.equal(logged.at(-1).metadata?.p20export.code, "p20export.cancelled");
}

/** Checks what a runtime got that joined a run. */
async function checkReader(serve, threadId, logged, { events, done, error }) {
  assert(done, `the reader failed: ${error}`);
  const [{ runId }, snapshot, state, ...rest] = events;
  assert.deepEqual([snapshot.type, state.type], ["MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"]);
  const run = logged.get(runId);
  const live = rest.findIndex((_, i) => JSON.stringify(rest.slice(i)) === JSON.stringify(run.slice(i - rest.length)));
  assert(live >= 0 && rest.slice(0, live).every(({ type }) => starts(type)), "the events are not the last ones of the run");
  const restored = JSON.parse(await serve.get(threadId, `restore?run=${encodeURIComponent(runId)}`));
  assert.deepEqual(await reduce(events), restored.messages);
}

/** Returns one of the values. */
const pick = (random, ...values) => values[Math.floor(random() * values.length)];

async function trial(number, serve, proxy, url, runtime) {
  const random = generator(Number(seed) + number);
  const threadId = `trial ${number}/ü`;
  const elsewhere = new ThreadRunner(url);
  const [results, readers] = [[], []];
  for (let i = 0, n = 1 + Math.floor(random() * 3); i < n; i++) {
    const spec = { threadId, runId: `run-${i}`, content: "word ".repeat(random() * 40).trim(), seed: Math.floor(random() * 2 ** 31) };
    const plan = { victims: pick(random, [], ["runtime"], ["serve"], ["runtime", "serve"]), batch: 1 + Math.floor(random() * 8), moment: pick(random, "before", "during", "after") };
    const joins = Array.from({ length: 4 }, () => 1 + Math.floor(random() * 25));
    const rival = 1 + Math.floor(random() * 40);
    let batches = 0;
    proxy.watch = async (moment) => {
      if (moment === "before") batches++;
      if (batches !== plan.batch || moment !== plan.moment) return;
      for (const victim of plan.victims.splice(0)) {
        if (victim === "runtime") {
          counts.killedRuntimes++;
          runtime.current.kill();
        } else {
          counts.killedServes++;
          await serve.kill();
          await serve.start();
        }
      }
    };
    let refused; // the attempt of a rival
    const result = await runtime.current.run(spec, (events) => {
      if (joins.includes(events)) readers.push(collect(elsewhere.connect({ threadId })));
      if (events === rival) {
        const spec = { threadId, runId: `rival-${i}`, content: "Me too!" };
        let started = false;
        refused = collect(elsewhere.run(request(new Painter(async () => (started = true)), spec)), spec).then((result) => ({ ...result, started }));
      }
    });
    results.push(result);
    if (result.killed) runtime.current = new Runtime(url);
    const attempt = await refused;
    if (attempt?.error) {
      assert.deepEqual([attempt.events, attempt.started], [[{ type: "RUN_ERROR", message: "Thread already running" }], false]);
      counts.refused++;
    } else if (attempt) {
      results.push(attempt);
    }
    if (await elsewhere.isRunning({ threadId })) {
      assert(result.killed, "a run is open whose runtime was not killed");
      assert(await elsewhere.stop({ threadId }));
    }
    counts.batches += batches;
  }
  proxy.watch = async () => {};
  const logged = await readLog(serve, threadId);
  for (const result of results) checkRun(logged.get(result.spec.runId), result);
  assert(results.length >= logged.size, "the log has a run that nobody made");
  for (const reader of readers) await checkReader(serve, threadId, logged, await reader);
  counts.runs += results.length;
  counts.readers += readers.length;
}

/** Makes trials, one after the other. */
async function lane(numbers, store) {
  const serve = new Serve(store);
  await serve.start();
  const proxy = new Proxy(`http://${serve.address}`, generator(Number(seed)));
  const url = await proxy.start();
  const runtime = { current: new Runtime(url) };
  try {
    for (const number of numbers) {
      await trial(number, serve, proxy, url, runtime).catch((cause) => {
        throw new Error(`trial ${number} of the seed ${seed} failed`, { cause });
      });
    }
  } finally {
    runtime.current.kill();
    proxy.stop();
    await serve.kill();
  }
  for (const [fault, number] of Object.entries(proxy.faults)) counts[fault] = (counts[fault] ?? 0) + number;
}

/**
 * An agent is silent for longer than serve waits for its producer, and then goes on. Another is
 * stopped from elsewhere while it is silent. serve asks for a token.
 */
async function silence() {
  const [token, tokens] = ["0123456789abcdef", join(directory, "tokens")];
  writeFileSync(tokens, `default sha256:${createHash("sha256").update(token).digest("hex")} append\n`, { mode: 0o600 });
  const serve = new Serve("silence.db", "--append-timeout", "12s", "--token-file", tokens);
  serve.headers = { Authorization: `Bearer ${token}` };
  await serve.start();
  const proxy = new Proxy(`http://${serve.address}`, () => 0.5); // no faults
  const url = await proxy.start();
  const runner = new ThreadRunner(url, serve);
  const elsewhere = new ThreadRunner(url, serve);
  try {
    let empty = 0;
    const heard = new Promise((resolve) => {
      proxy.watch = async (moment, body) => {
        if (moment === "after" && body.startsWith(`{"runId":"patient"`) && body.endsWith(`"events":[]}`) && ++empty === 2) resolve();
      };
    });
    const patient = { threadId: "patient", runId: "patient", content: "Hello!" };
    const waiting = collect(runner.run(request(new Painter(({ delta }) => delta === "letters " && heard), patient)), patient);
    const aborted = await new Promise((resolve) => {
      const spec = { threadId: "stopped", runId: "run", content: "Hello!" };
      const agent = new Painter(async ({ delta }, signal) => {
        if (delta !== "letters ") return;
        resolve({ signal, result });
        await once(signal, "abort");
      });
      const result = collect(runner.run(request(agent, spec)), spec);
    });
    assert(await elsewhere.isRunning({ threadId: "stopped" }));
    assert.equal(await elsewhere.stop({ threadId: "stopped", runId: "other" }), false);
    assert(await elsewhere.stop({ threadId: "stopped", runId: "run" }));
    const stopped = await aborted.result;
    assert(aborted.signal.aborted);
    checkRun((await readLog(serve, "stopped")).get("run"), { ...stopped, killed: true });
    assert.equal(stopped.events.at(-1).metadata.p20export.code, "p20export.cancelled");
    const waited = await waiting;
    assert(waited.done);
    checkRun((await readLog(serve, "patient")).get("patient"), waited);
  } finally {
    proxy.stop();
    await serve.kill();
  }
}

/** The numbers of the trials, which the lanes share. When one fails, all end. */
function* range(n) {
  for (let i = 0; i < n; i++) yield i;
}

const numbers = range(Number(trials));
const lanes = await Promise.allSettled([silence(), ...["a.db", "b.db", "c.db"].map((store) => lane(numbers, store))]);
rmSync(directory, { recursive: true });
for (const { reason } of lanes) if (reason) throw reason;
console.log(`${trials} trials with the seed ${seed} passed:`, counts);
