// What a user writes in TypeScript, checked in strict mode and never run.
import { HttpAgent, type AgentSubscriber } from "@ag-ui/client";
import { ThreadAgent, ThreadError, memoryCursors, sessionCursors, type Cursors, type Run, type ThreadAgentConfig } from "@p20export/client";
import { record, replay, toMatchTrace, type Recording, type Server } from "@p20export/client/testing";

const config: ThreadAgentConfig = { server: "http://127.0.0.1:8080", agent: "guide", headers: { Authorization: "Bearer t" }, stallTimeout: 1000, onRetry: (error, pause) => console.log(error, pause.toFixed()) };
const agents: HttpAgent[] = [new ThreadAgent(config), new ThreadAgent({ url: "http://127.0.0.1:8080/agents/guide", cursors: sessionCursors() })];
const cursors: Cursors = { get: async () => undefined, set() {}, delete() {} };
const agent = new ThreadAgent({ ...config, cursors: agents.length ? cursors : memoryCursors() });

// @ts-expect-error An agent needs an address.
new ThreadAgent({ threadId: "t" });
// @ts-expect-error The address of a server needs the name of an agent.
new ThreadAgent({ server: "http://127.0.0.1:8080" });

const subscriber: AgentSubscriber = { onEvent: ({ event }) => console.log(event.type) };
await agent.runAgent({ parentRunId: "r" }, subscriber);
await agent.resume(undefined, subscriber);
const { newMessages } = await agent.runAgent({ runId: "r" }, subscriber);
const runs: Run[] = await agent.runs();
const end: Run["end"] | undefined = await agent.cancel(runs[0]?.run_id);
await agent.clone().restore();
try {
  await agent.restore(newMessages[0]?.id);
} catch (error) {
  if (error instanceof ThreadError) console.log(error.status?.toFixed(), error.code, error.detail, error.runId, end);
}

await using server: Server = await replay("captures", { speed: 1, match: "input", ids: "request" });
const recording: Recording = await record(server.url);
const { pass, message } = await toMatchTrace(recording, "golden");
console.log(recording.captures, pass, message());
