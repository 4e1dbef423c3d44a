// Runs and joins a thread with the agent of examples/resumable-chat, a subclass of HttpAgent.
//
//	node client.mjs SERVER AGENT THREAD
//
// Each line of the standard input is a command, {"command"}. "run" starts a run with a
// message, and "join" joins the thread until its run has ended; both answer with a line
// {"messages", "state", "end", "error"}. "drop" ends the connection of "join", which joins
// again. "runs", "restore" and "cancel" call the method, and answer in the same way.
import { createInterface } from "node:readline";
import { ResumableAgent } from "./agent.js";

const [server, name, threadId] = process.argv.slice(2);
const agent = new ResumableAgent({ server, agent: name, threadId, headers: { Authorization: "Bearer token" } });

// The client writes about patches that do not apply.
for (const name of ["debug", "error", "info", "trace", "warn"]) console[name] = () => {};

// The client does not handle every error of a connection, which would end this program.
process.on("unhandledRejection", () => {});

let end = "";
agent.subscribe({
  onRunFinishedEvent: () => void (end = "RUN_FINISHED"),
  onRunErrorEvent: () => void (end = "RUN_ERROR"),
});

let dropped = false;
const join = async () => {
  do {
    dropped = false;
    try {
      await agent.connectAgent();
    } catch (error) {
      if (!dropped) throw error;
    }
  } while (dropped);
};

const commands = {
  run: ({ runId, parentRunId, message }) => {
    agent.addMessage({ id: `user-${runId}`, role: "user", content: message });
    return agent.runAgent({ runId, parentRunId });
  },
  join,
  runs: async () => void (end = (await agent.runs()).map((r) => r.run_id).join()),
  restore: ({ runId }) => agent.restore(runId),
  cancel: ({ runId }) => agent.cancel(runId),
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  if (command.command === "drop") {
    dropped = true;
    agent.abortController.abort();
    continue;
  }
  end = "";
  let failure = "";
  const answer = () => {
    const { messages, state } = agent;
    console.log(JSON.stringify({ messages: JSON.stringify(messages), state: JSON.stringify(state) ?? "", end, error: failure }));
  };
  commands[command.command](command).catch((error) => void (failure = String(error))).then(answer);
}
