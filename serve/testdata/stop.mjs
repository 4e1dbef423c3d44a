// Stops a run as a page does, and sends the next message at once.
//
//	node stop.mjs URL THREAD ROUNDS
//
// In each round, HttpAgent runs, is aborted after the first event of its message, and runs
// again. It writes {"errors", "end", "messages"} after the last round.
import { HttpAgent } from "@ag-ui/client";

const [url, threadId, rounds] = process.argv.slice(2);
const agent = new HttpAgent({ url, threadId });
process.on("unhandledRejection", () => {});

let end = "";
let errors = 0;
let started = () => {};
agent.subscribe({
  onTextMessageContentEvent: () => void started(),
  onRunFinishedEvent: ({ event }) => void (end = `${event.runId} ${event.outcome?.type ?? "success"}`),
});

const run = async (runId) => {
  agent.addMessage({ id: `user-${runId}`, role: "user", content: runId });
  try {
    await agent.runAgent({ runId });
  } catch (error) {
    if (error.name !== "AbortError") {
      errors++;
      console.error(String(error));
    }
  }
};

for (let i = 0; i < Number(rounds); i++) {
  const content = new Promise((resolve) => void (started = resolve));
  const stopped = run(`stopped-${i}`);
  await content;
  started = () => {};
  agent.abortRun();
  await stopped;
  await run(`next-${i}`);
}
console.log(JSON.stringify({ errors, end, messages: agent.messages.filter((m) => m.role === "assistant").map((m) => m.content) }));
