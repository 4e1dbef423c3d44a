import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { ThreadAgent, ThreadError, memoryCursors, sessionCursors } from "@p20export/client";
import { replay } from "@p20export/client/testing";
import { captures, listen, reverseProxy, serve, undisturbed } from "./servers.js";

const quick = { retryDelay: 1, maxRetryDelay: 1 };

/** Starts serve with an agent that answers at once, and one that takes minutes. */
async function agents(t, ...flags) {
  const [guide, counter] = await Promise.all([
    replay(join(captures, "one-turn"), { ids: "request" }),
    replay(join(captures, "long-stream"), { ids: "request", speed: 0.01 }),
  ]);
  t.after(guide.close);
  t.after(counter.close);
  return serve(t, { guide: guide.url, counter: counter.url }, ...flags);
}

/** Returns an agent with a question, its events, and a promise for the first text. */
function asks(config) {
  const agent = new ThreadAgent({ agent: "guide", threadId: "t/1", initialMessages: [{ id: "user-1", role: "user", content: "What is the capital of France?" }], ...quick, ...config });
  const events = [];
  const text = new Promise((resolve) => {
    agent.subscribe({ onEvent: ({ event }) => void events.push(event), onTextMessageContentEvent: () => resolve() });
  });
  return { agent, events, text };
}

const answer = ["What is the capital of France?", "The capital of France is Paris."];
const texts = (agent) => agent.messages.map(({ content }) => content);

test("a response that ends too early in good order", async (t) => {
  const server = await agents(t);
  for (const after of [0, 1, 100, 300, 700]) {
    const retries = [];
    const proxy = await reverseProxy(t, () => server.url, [{ after }]);
    const { agent, events } = asks({ server: proxy, threadId: `t${after}`, onRetry: (error) => retries.push(error.message) });
    await agent.runAgent();
    assert.deepEqual(events, await undisturbed(server.url, agent.threadId));
    assert.deepEqual(retries, ["the response ended before the run"]);
    assert.deepEqual(texts(agent), answer);
    const joined = asks({ server: await reverseProxy(t, () => server.url, [{ after }]), threadId: agent.threadId });
    await joined.agent.connectAgent();
    assert.deepEqual(texts(joined.agent), answer);
  }
});

test("the server asks for patience", async (t) => {
  const server = await agents(t);
  const pauses = [];
  const proxy = await reverseProxy(t, () => server.url, [{ status: 503, headers: { "Retry-After": "1" } }, { status: 502, body: "<html>" }, { status: 429 }]);
  const { agent } = asks({ server: proxy, onRetry: (error, pause) => pauses.push([error.status, Math.floor(pause / 1000)]) });
  await agent.runAgent();
  assert.deepEqual(pauses, [[503, 1], [502, 0], [429, 0]]);
  assert.deepEqual(texts(agent), answer);
});

test("refusals end the run", async (t) => {
  t.mock.method(console, "error", () => {}); // AG-UI's client prints the errors too
  const refusing = createServer((request, response) => response.writeHead(403, { "Content-Type": "text/plain" }).end("not you"));
  const server = await agents(t, `--upstream=refusing=http://127.0.0.1:${await listen(t, refusing)}`, "--upstream=absent=http://127.0.0.1:1");
  const refused = (agent, expected, parameters) => assert.rejects(asks({ server: server.url, agent, threadId: agent }).agent.runAgent(parameters), expected);
  await refused("nobody", { name: "ThreadError", status: 404, code: "unknown_agent", fromAgent: false });
  await refused("absent", { status: 502, code: "agent_failed" });
  await refused("refusing", { status: 403, code: undefined, detail: "not you", fromAgent: true });

  const busy = asks({ server: server.url, agent: "counter", threadId: "busy" });
  const running = busy.agent.runAgent({ runId: "r" });
  await busy.text;
  await assert.rejects(asks({ server: server.url, threadId: "busy" }).agent.runAgent({ runId: "other" }), (error) => {
    assert.ok(error instanceof ThreadError);
    assert.deepEqual([error.status, error.code, error.runId], [409, "thread_busy", "r"]);
    return true;
  });
  await assert.rejects(asks({ server: server.url, threadId: "busy" }).agent.runAgent({ runId: "r", forwardedProps: { x: 1 } }), { code: "run_differs" });
  assert.equal(await busy.agent.cancel(), "cancelled");
  await running;
});

test("a log that was rewound", async (t) => {
  t.mock.method(console, "error", () => {}); // AG-UI's client prints the errors too
  const server = await agents(t);
  const other = await agents(t); // its log is as new as one after the loss of all
  const proxy = await reverseProxy(t, () => (target ?? server).url, [{ after: 700 }]);
  let target;
  const { agent, events } = asks({ server: proxy, onRetry: () => (target = other) });
  await assert.rejects(agent.runAgent(), { name: "ThreadError", code: "log_rewound" });
  assert.ok(events.length > 1);
});

test("abortRun leaves the run, and cancel ends it", async (t) => {
  const server = await agents(t);
  const { agent, text, events } = asks({ server: server.url, agent: "counter" });
  const running = agent.runAgent();
  await text;
  agent.abortRun();
  await running;
  assert.equal((await agent.runs()).at(-1).end, "open");
  assert.equal(await agent.cancel(), "cancelled");
  assert.equal(await agent.cancel(), undefined);
  assert.equal((await agent.runs()).at(-1).end, "cancelled");
  assert.equal(events.at(-1).code, "abort");
});

test("abortRun between two attempts", async (t) => {
  const server = await agents(t);
  const proxy = await reverseProxy(t, () => server.url, [{ status: 503, headers: { "Retry-After": "1000" } }]);
  const { agent } = asks({ server: proxy, onRetry: () => queueMicrotask(() => agent.abortRun()) });
  await agent.runAgent();
  assert.deepEqual(await agent.runs(), []);
});

test("detachActiveRun closes the connection", async (t) => {
  const server = await agents(t);
  let closed;
  const left = new Promise((resolve) => (closed = resolve));
  const fetching = (url, init) => fetch(url, init).then((response) => (init.signal?.addEventListener("abort", closed), response));
  const { agent, text } = asks({ server: server.url, agent: "counter", fetch: fetching });
  const running = agent.runAgent();
  await text;
  await agent.detachActiveRun();
  await running;
  await left;
  assert.equal((await agent.runs()).at(-1).end, "open");
});

test("joining", async (t) => {
  const server = await agents(t);
  const { agent } = asks({ url: `${server.url}/agents/guide` });
  await agent.connectAgent();
  assert.deepEqual(agent.messages, [], "the thread has no runs");
  agent.setMessages([{ id: "user-1", role: "user", content: answer[0] }]);
  const { newMessages } = await agent.runAgent({ runId: "r1" });
  assert.equal(newMessages.length, 1);

  const page = asks({ server: server.url }).agent.clone();
  assert.ok(page instanceof ThreadAgent);
  await page.connectAgent();
  assert.deepEqual(page.messages, agent.messages);

  page.addMessage({ id: "user-2", role: "user", content: "And of Spain?" });
  await page.runAgent({ runId: "r2", parentRunId: "r1" });
  assert.deepEqual((await agent.runs()).map((run) => [run.run_id, run.parent_run_id, run.end]), [["r1", null, "finished"], ["r2", "r1", "finished"]]);
  await page.restore("r1");
  assert.deepEqual(page.messages, agent.messages);
  await assert.rejects(page.restore("r3"), { status: 404, code: "unknown_run" });
});

test("resuming", async (t) => {
  const server = await agents(t);
  const items = new Map();
  const storage = { getItem: (key) => items.get(key) ?? null, setItem: (key, value) => void items.set(key, value), removeItem: (key) => void items.delete(key) };
  for (const [threadId, cursors] of Object.entries({ memory: memoryCursors(), session: sessionCursors(storage) })) {
    const config = { server: server.url, agent: "counter", threadId };
    // A page leaves without a chance to delete its cursor.
    const page = asks({ ...config, cursors: { ...cursors, delete() {} } });
    const running = page.agent.runAgent();
    await page.text;
    page.agent.abortRun();
    await running;

    const reloaded = asks({ ...config, cursors, initialMessages: [] });
    const resumed = reloaded.agent.resume();
    await reloaded.text;
    assert.equal(await reloaded.agent.cancel(), "cancelled");
    await resumed;
    // Clients before 1.0.0 get the last event without its outcome.
    assert.deepEqual(reloaded.events.slice(0, -1), (await undisturbed(server.url, threadId)).slice(0, -1));
    assert.equal(reloaded.events.at(-1).metadata.p20export.code, "p20export.cancelled");
    assert.equal(texts(reloaded.agent)[0], answer[0]);
    assert.equal(await cursors.get(threadId), undefined);

    // The run has ended and its end was seen, so this page joins.
    const later = asks({ ...config, cursors, initialMessages: [] });
    await later.agent.resume();
    assert.deepEqual(later.agent.messages, reloaded.agent.messages);
  }
});

test("resuming a run after which others have begun", async (t) => {
  const server = await agents(t);
  const cursors = memoryCursors();
  const config = { server: server.url, cursors: { ...cursors, delete() {} } };
  await asks(config).agent.runAgent();
  const { agent } = asks({ server: server.url });
  await agent.connectAgent();
  agent.addMessage({ id: "user-2", role: "user", content: "And of Spain?" });
  await agent.runAgent();
  const reloaded = asks({ server: server.url, cursors, initialMessages: [] });
  await reloaded.agent.resume();
  assert.deepEqual(reloaded.agent.messages, agent.messages);
  assert.equal(await cursors.get("t/1"), undefined);
});

test("resuming a request that has not reached the server", async (t) => {
  const server = await agents(t);
  const cursors = memoryCursors();
  const offline = asks({ server: server.url, cursors: { ...cursors, delete() {} }, fetch: () => Promise.reject(new TypeError("offline")), onRetry: () => offline.agent.abortRun() });
  await offline.agent.runAgent();
  const reloaded = asks({ server: server.url, cursors, initialMessages: [] });
  await reloaded.agent.resume();
  assert.deepEqual(texts(reloaded.agent), answer);
});

test("an agent needs a URL of serve", () => {
  assert.throws(() => new ThreadAgent({ url: "http://127.0.0.1/chat" }), /does not end with \/agents\/NAME/);
});
