// Measures CopilotKit's InMemoryAgentRunner with the events that cmd/internal/bench/store appends.
//
// The agents hand finished event objects directly to the runner, so only the runner is
// measured: no network, no parsing, and no message store of an agent. Standard input has
// the options, standard output the result, both in JSON.

process.env.COPILOTKIT_TELEMETRY_DISABLED = "true"; // before the runtime is imported: it reports to a service
process.env.DO_NOT_TRACK = "1";
const { InMemoryAgentRunner } = await import("@copilotkit/runtime/v2");

const options = JSON.parse(await new Response(process.stdin).text());

// Without limits: by default, a thread keeps only its last 100 runs.
const runner = new InMemoryAgentRunner({ maxThreads: Infinity, maxRunsPerThread: Infinity, maxBytes: Infinity });

const seconds = () => Number(process.hrtime.bigint()) / 1e9;

/** The events of a run: one message, with deltas in events of 200 bytes as JSON. */
function events(threadId, runId) {
  const messageId = "message-1";
  const delta = "the quick brown fox jumps over the lazy dog and runs on ".repeat(3).slice(0, options.text);
  return [
    { type: "RUN_STARTED", threadId, runId },
    { type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
    ...Array.from({ length: options.events - 4 }, () => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta })),
    { type: "TEXT_MESSAGE_END", messageId },
    { type: "RUN_FINISHED", threadId, runId },
  ];
}

/** Appends a run to a thread; returns how long it took in seconds. */
async function append(threadId, runId) {
  const list = events(threadId, runId);
  const agent = {
    messages: [],
    abortRun() {},
    async runAgent(_, subscriber) {
      for (const event of list) {
        subscriber.onEvent({ event });
      }
    },
  };
  const begun = seconds();
  await done(runner.run({ threadId, agent, input: { threadId, runId, messages: [], state: {}, tools: [], context: [], forwardedProps: {} } }));
  return seconds() - begun;
}

/** Reads an observable to its end; returns the number of its events. */
function done(observable) {
  return new Promise((resolve, reject) => {
    let n = 0;
    observable.subscribe({ next: () => n++, error: reject, complete: () => resolve(n) });
  });
}

const result = { append: [], grown: [], connect: [], connected: 0 };
for (let run = 0; run < options.runs; run++) {
  await append("history", `run-${run}`);
}
for (let round = 0; round < options.rounds; round++) {
  result.append.push(await append(`append-${round}`, "run"));
  result.grown.push(await append("history", `more-${round}`));
  const begun = seconds();
  result.connected = await done(runner.connect({ threadId: "history" }));
  result.connect.push(seconds() - begun);
}
console.log(JSON.stringify(result));
