// Seeded trials: connections break at random points, and subscribers notice nothing.
// P20EXPORT_SEED=N runs the trials of one seed again, and P20EXPORT_TRIALS=N other numbers.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { ThreadAgent } from "@p20export/client";
import { replay } from "@p20export/client/testing";
import { captures, faultyProxy, random, serve, undisturbed } from "./servers.js";

const seed = Number(process.env.P20EXPORT_SEED ?? Date.now() % 1_000_000);
const trials = Number(process.env.P20EXPORT_TRIALS ?? 50);
const conversations = ["long-reply", "long-stream", "reasoning", "state-change", "two-agents", "unicode", "backend-tool"];
const kinds = ["cut", "end", "stall", "garbage"];

test(`${trials} trials of seed ${seed}`, async (t) => {
  const damage = { cut: 0, end: 0, stall: 0, garbage: 0, restart: 0, retries: 0 };
  for (let trial = 0; trial < trials; trial++) {
    await t.test(`trial ${trial}`, (t) => oneTrial(t, random(seed + trial), damage));
  }
  t.diagnostic(JSON.stringify(damage));
  assert.ok(trials < 50 || Object.values(damage).every((count) => count > 0), "some kind of damage did not happen");
});

async function oneTrial(t, next, count) {
  const pick = (values) => values[Math.floor(next() * values.length)];
  const capture = pick(conversations);
  const recorded = await replay(join(captures, capture), { ids: "request", speed: pick([0, 1, 3]) });
  t.after(recorded.close);
  const server = await serve(t, { agent: recorded.url });
  let faults = Math.floor(next() * 10);
  const proxy = await faultyProxy(t, () => server.url, () => {
    if (faults-- <= 0) return undefined;
    const kind = pick(kinds);
    count[kind]++;
    // A control character or a byte that UTF-8 does not have, which no event contains.
    const bytes = Buffer.from(Array.from({ length: 1 + next() * 3 }, () => pick([0, 1, 0x1f, 0xfe, 0xff])));
    return { kind, bytes, after: Math.floor(next() ** 3 * 100_000) };
  });
  const agent = new ThreadAgent({ server: proxy, agent: "agent", threadId: `thread ${capture}/ü`, stallTimeout: 500, retryDelay: 10, maxRetryDelay: 50, onRetry: () => count.retries++ });
  agent.addMessage({ id: "user-1", role: "user", content: "Hello" });

  const joins = next() < 0.5;
  const restartAt = next() < 0.4 ? 1 + Math.floor(next() * 20) : 0;
  const events = [];
  let begun, restarted;
  const started = new Promise((resolve) => (begun = resolve));
  const runner = {
    onEvent: ({ event }) => {
      begun();
      if (events.push(event) !== restartAt) return;
      count.restart++;
      restarted = server.restart(); // it ends the run
    },
  };
  const joiner = agent.clone();
  const joined = [];
  const running = agent.runAgent({}, runner).catch(endedByServer);
  if (joins) {
    await started;
    await joiner.connectAgent({}, { onEvent: ({ event }) => void joined.push(event) }).catch(endedByServer);
  }
  await running;
  await restarted;

  const all = await undisturbed(server.url, agent.threadId);
  assert.deepEqual(events, all);
  if (!joins) return;
  // The join begins with snapshots and with the start of what is open; the live events follow.
  const live = joined.length - joined.findIndex((_, index) => isDeepStrictEqual(joined.slice(index), all.slice(index - joined.length)));
  const prelude = joined.slice(0, joined.length - live).map(({ type }) => type);
  assert.match(prelude.join(" "), /^RUN_STARTED MESSAGES_SNAPSHOT STATE_SNAPSHOT( \w+_START| STEP_STARTED)*$/);
  assert.deepEqual(joiner.messages, agent.messages);
  assert.deepEqual(joiner.state, agent.state);
}

/** A run that a restart ended fails with what the server says. */
function endedByServer(error) {
  assert.match(String(error), /server/);
}
