// Answers questions about AG-UI events with the reference client. Each line of the
// standard input is one question, {"method", "arguments"}; each line of the standard
// output is its answer, {"result"} or {"failure"}, with the client's warnings. Events are
// strings of JSON.
//
//	node judge.mjs DIRECTORY    the directory with the client's node_modules
import { createRequire } from "node:module";
import { resolve } from "node:path";

const require = createRequire(resolve(process.argv[2]) + "/");
const { AbstractAgent, CompatibilityBoundary, compactEvents, enforceEvents, HttpAgent, transformChunks, verifyEvents } = require("@ag-ui/client");
const { EventSchema, RunAgentInputSchema } = require("@ag-ui/core/schemas");
const earlier = require("client-0.0.52");
const last = require("client-0.0.59");
const { applyPatch } = require("fast-json-patch");
const { Subject, from } = require("rxjs");

let warnings = [];
for (const name of ["debug", "error", "info", "log", "trace", "warn"]) {
  console[name] = (...args) => warnings.push(args.map(String).join(" "));
}

// The client does not handle every error of a connection, which would end this program.
process.on("unhandledRejection", (error) => warnings.push(String(error)));

const parse = (events) => events.map((event) => JSON.parse(event));
const textOf = (error) => (error instanceof Error ? error.message : String(error));

// The stages of the client that an event passes before it is applied.
const expand = (source) => source.pipe(transformChunks());
const verify = (source) => source.pipe(transformChunks(), verifyEvents());
const verifyLast = (source) => source.pipe(last.transformChunks(), last.verifyEvents());
const verifyEarlier = (source) => source.pipe(earlier.transformChunks(), earlier.verifyEvents());
const inbound = (source) => {
  const input = { threadId: "", runId: "", messages: [] };
  const upgraded = new CompatibilityBoundary().run(input, { run: () => source });
  return upgraded.pipe(enforceEvents(), transformChunks(), verifyEvents());
};

// pass sends events through stages, one after the other. It returns what comes out, and
// the index and the text of the first error, or -1.
const pass = (events, stages) => {
  const source = new Subject();
  const out = [];
  let index = -1;
  let text = "";
  let current = 0;
  stages(source).subscribe({
    next: (event) => out.push(event),
    error: (error) => {
      index = current;
      text = textOf(error);
    },
  });
  for (; current < events.length && index < 0; current++) {
    source.next(events[current]);
  }
  if (index < 0) source.complete();
  return { out, index, text };
};

class Agent extends AbstractAgent {
  events = [];
  run() {
    return from(this.events);
  }
}

// inMemory returns a function like fetch that answers with a response. If it is broken, its
// body fails after the last byte.
const inMemory = ({ status, contentType, body, broken }) => async () => {
  const chunks = [new Uint8Array(Buffer.from(body, "base64"))].filter((bytes) => bytes.length > 0);
  const stream = new ReadableStream({
    pull(controller) {
      if (chunks.length > 0) controller.enqueue(chunks.shift());
      else if (broken) controller.error(new TypeError("broken"));
      else controller.close();
    },
  });
  return new Response(stream, { status, headers: contentType ? { "content-type": contentType } : {} });
};

// paced returns a response whose body arrives line by line, with a turn of the event loop
// after each line. Otherwise it would depend on the timing which events the client loses when
// it refuses one, because they wait in its queue.
const paced = (response) => {
  if (!response.body) return response;
  const lines = new TransformStream({
    async transform(bytes, controller) {
      for (let from = 0, to; from < bytes.length; from = to) {
        to = bytes.indexOf(10, from) + 1 || bytes.length;
        controller.enqueue(bytes.subarray(from, to));
        await new Promise(setImmediate);
      }
    },
  });
  return new Response(response.body.pipeThrough(lines), { status: response.status, headers: response.headers });
};

// run lets the client run an agent over HTTP. The request has exactly the given body.
const run = async (url, body, fetch) => {
  const input = JSON.parse(body);
  const agent = new HttpAgent({ url, threadId: input.threadId, initialMessages: input.messages ?? [], initialState: input.state ?? {} });
  agent.fetch = async (url, init) => paced(await fetch(url, { ...init, body }));
  const events = [];
  let text = "";
  try {
    await agent.runAgent({ runId: input.runId }, { onEvent: ({ event }) => void events.push(JSON.stringify(event)) });
  } catch (error) {
    text = textOf(error) || "failed";
  }
  return { events, messages: JSON.stringify(agent.messages), state: JSON.stringify(agent.state) ?? "", text };
};

// problem returns why a schema refuses a value, or "".
const problem = (schema, value) => {
  const { success, error } = schema.safeParse(value);
  return success ? "" : JSON.stringify(error.issues) || "refused";
};

const methods = {
  verify: ({ events }) => {
    const { index, text } = pass(parse(events), verify);
    return { index, text };
  },
  verifyEarlier: ({ events }) => {
    const { index, text } = pass(parse(events), verifyEarlier);
    return { index, text };
  },
  verifyLast: ({ events }) => {
    const { index, text } = pass(parse(events), verifyLast);
    return { index, text };
  },
  pipeline: ({ events }) => {
    const { index, text } = pass(parse(events), inbound);
    return { index, text };
  },
  expand: ({ events }) => {
    const { out, index, text } = pass(parse(events), expand);
    return { events: out.map((event) => JSON.stringify(event)), index, text };
  },
  schemas: ({ events }) => parse(events).map((event) => problem(EventSchema, event)),
  input: ({ input }) => problem(RunAgentInputSchema, JSON.parse(input)),
  compact: ({ version, events }) => {
    const compact = { "1.0.0": compactEvents, "0.0.52": earlier.compactEvents }[version];
    return compact(parse(events)).map((event) => JSON.stringify(event));
  },
  // The stages run twice. The first time they find the event that ends the stream; in the
  // second only what came before it is applied, so that none of it is lost in the queue.
  reduce: async ({ messages, state, events }) => {
    const { out, index, text } = pass(parse(events), inbound);
    const agent = new Agent({ initialMessages: JSON.parse(messages), initialState: JSON.parse(state) });
    agent.events = out;
    if (out.length > 0) await agent.runAgent();
    return { messages: JSON.stringify(agent.messages), state: JSON.stringify(agent.state) ?? "", index, text };
  },
  post: ({ url, input }) => run(url, input, fetch),
  receive: ({ response, input }) => run("http://localhost/", input, inMemory(response)),
  patch: ({ document, operations }) => {
    try {
      const { newDocument } = applyPatch(JSON.parse(document), JSON.parse(operations), true, false);
      return { ok: true, result: JSON.stringify(newDocument) ?? "" };
    } catch (error) {
      return { ok: false, result: textOf(error) };
    }
  },
};

const answer = async (line) => {
  warnings = [];
  try {
    const { method, arguments: args } = JSON.parse(line);
    const result = await methods[method](args);
    return { result, warnings };
  } catch (error) {
    return { failure: textOf(error) || "failed", warnings };
  }
};

let buffer = "";
process.stdin.setEncoding("utf8");
for await (const chunk of process.stdin) {
  const lines = (buffer + chunk).split("\n");
  buffer = lines.pop();
  for (const line of lines) {
    process.stdout.write(JSON.stringify(await answer(line)) + "\n");
  }
}
