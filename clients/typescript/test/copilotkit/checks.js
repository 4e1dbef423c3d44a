import assert from "node:assert/strict";

import { AbstractAgent } from "@ag-ui/client";
import { from } from "rxjs";

import { Painter, answer, request } from "./agent.js";

/** Returns the events of an observable, and how it ended. */
export function collect(observable, spec) {
  const events = [];
  return new Promise((resolve) => {
    observable.subscribe({
      next: (event) => events.push(event),
      error: (error) => resolve({ spec, events, error: error.message }),
      complete: () => resolve({ spec, events, done: true }),
    });
  });
}

const starts = (type) => type === "TEXT_MESSAGE_START" || type === "TOOL_CALL_START";
const ends = (type) => type === "RUN_FINISHED" || type === "RUN_ERROR";

/** Returns the events of each run of a thread in the log. Nothing follows the end of a run. */
export async function readLog(serve, threadId) {
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

/**
 * Checks what the log has of a run, and what its runner has emitted: all events of the agent, or
 * the first ones and the end of a cancelled run.
 */
export function checkRun(logged, { spec, events, done, error, killed }) {
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

/**
 * Checks what a runtime got that joined a run: the last events of the run, each once, after what
 * opens them. CopilotKit's client makes the same messages of it as serve.
 */
export async function checkReader(serve, threadId, logged, { events, done, error }) {
  assert(done, `the reader failed: ${error}`);
  const [{ runId }, snapshot, state, ...rest] = events;
  assert.deepEqual([snapshot.type, state.type], ["MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"]);
  const run = logged.get(runId);
  const live = rest.findIndex((_, i) => JSON.stringify(rest.slice(i)) === JSON.stringify(run.slice(i - rest.length)));
  assert(live >= 0 && rest.slice(0, live).every(({ type }) => starts(type)), "the events are not the last ones of the run");
  const agent = new Recorded(events);
  await agent.connectAgent();
  const restored = JSON.parse(await serve.get(threadId, `restore?run=${encodeURIComponent(runId)}`));
  assert.deepEqual(JSON.parse(JSON.stringify(agent.messages)), restored.messages);
}
