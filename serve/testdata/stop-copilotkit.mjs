// Stops a run as CopilotKit's front end does, and sends the next message at once.
//
//	node stop-copilotkit.mjs URL THREAD ROUNDS
//
// CopilotKit's runtime runs here, with an HttpAgent for the URL. In each round, a run is stopped
// after the first event of its message, and another one is run. It writes {"errors", "end",
// "messages"} after the last round, as stop.mjs does.
process.env.COPILOTKIT_TELEMETRY_DISABLED = "true"; // before the runtime is imported: it reports to a service
process.env.DO_NOT_TRACK = "1";
const { createServer } = await import("node:http");
const { HttpAgent } = await import("@ag-ui/client");
const { CopilotRuntime } = await import("@copilotkit/runtime/v2");
const { createCopilotNodeListener } = await import("@copilotkit/runtime/v2/node");

const [url, threadId, rounds] = process.argv.slice(2);
const runtime = new CopilotRuntime({ agents: { default: new HttpAgent({ url }) } });
const server = createServer(createCopilotNodeListener({ runtime, basePath: "/" }));
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const base = `http://127.0.0.1:${server.address().port}/agent/default`;

let end = "";
let errors = 0;
const history = [];
const answers = [];

const post = (path, body) =>
  fetch(base + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** Runs; calls started at the first part of the answer. */
async function run(runId, started = () => {}) {
  history.push({ id: `user-${runId}`, role: "user", content: runId });
  const response = await post("/run", { threadId, runId, messages: history, state: {}, tools: [], context: [], forwardedProps: {} });
  if (response.status !== 200) {
    errors++;
    console.error(response.status, await response.text());
    return;
  }
  let text = "";
  let answer;
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    const frames = (text + part).split("\n\n");
    text = frames.pop();
    for (const frame of frames.filter((f) => f.startsWith("data: "))) {
      const event = JSON.parse(frame.slice(6));
      switch (event.type) {
        case "TEXT_MESSAGE_CONTENT":
          answer = { id: event.messageId, role: "assistant", content: (answer?.content ?? "") + event.delta };
          started();
          break;
        case "RUN_FINISHED":
          end = `${event.runId} ${event.outcome?.type ?? "success"}`;
          break;
        case "RUN_ERROR": // the runtime ends a run that was stopped with one
          if (event.code !== "abort") {
            errors++;
            console.error(frame);
          }
      }
    }
  }
  if (answer) {
    history.push(answer);
    answers.push(answer.content);
  }
}

for (let i = 0; i < Number(rounds); i++) {
  let stopped;
  await new Promise((resolve) => void (stopped = run(`stopped-${i}`, resolve)));
  const response = await post(`/stop/${threadId}`, {});
  if (response.status !== 200) {
    errors++;
    console.error(response.status, await response.text());
  }
  await stopped;
  await run(`next-${i}`);
}
console.log(JSON.stringify({ errors, end, messages: answers }));
process.exit(0);
