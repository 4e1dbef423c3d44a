// The AG-UI agents for LangGraph over HTTP, one for each graph of a deployment. See README.md.

import { EventEncoder } from "@ag-ui/encoder";
import { LangGraphAgent } from "@ag-ui/langgraph";
import { v5, validate } from "@langchain/core/utils/uuid";
import { Client } from "@langchain/langgraph-sdk";
import { json } from "node:stream/consumers";

// Settings of the integration for single paths; all others are defaults.
const SETTINGS = { confirmation: { emitInterruptOutcome: true } };

// LangGraph's server accepts only UUIDs as thread ids, and those of the scenarios are not UUIDs. The
// server gets a UUID computed from the id. The integration and its events keep the request's id.
const THREADS = "7a6c1f0e-3f0b-4b2e-9f5d-6f1d0a0b8c11";
const uuid = (id) => (validate(id) ? id : v5(id, THREADS));

/** Like fetch, for requests to LangGraph's server. */
function fetchWithUUIDs(url, init) {
  const path = url.replace(/(\/threads\/)([^/?]+)/, (_, before, id) => before + uuid(decodeURIComponent(id)));
  if (init.method === "POST" && path.endsWith("/threads")) {
    const body = JSON.parse(init.body);
    init = { ...init, body: JSON.stringify({ ...body, thread_id: body.thread_id && uuid(body.thread_id) }) };
  }
  return fetch(path, init);
}

const encoder = new EventEncoder();

/** Returns a listener for an HTTP server: a request's path names the graph that answers it. */
export function build({ url, graphs }) {
  const client = new Client({ apiUrl: url, callerOptions: { fetch: fetchWithUUIDs } });
  const agents = Object.fromEntries(
    graphs.map((graphId) => [
      `/${graphId}`,
      new LangGraphAgent({ deploymentUrl: url, graphId, client, ...SETTINGS[graphId] }),
    ]),
  );
  return async (request, response) => {
    const agent = agents[request.url];
    if (request.method !== "POST" || !agent) return fail(response, 404, `no agent at ${request.method} ${request.url}`);
    const input = await json(request).catch(() => null);
    if (!input) return fail(response, 400, "the body is not JSON");
    agent
      .clone()
      .run(input)
      .subscribe({
        next(event) {
          if (!response.headersSent) response.writeHead(200, { "Content-Type": encoder.getContentType() });
          response.write(encoder.encode(event));
        },
        error(error) {
          if (response.headersSent) response.destroy(error);
          else fail(response, 500, `the agent fails before its first event: ${error?.message}`);
        },
        complete: () => response.end(),
      });
  };
}

function fail(response, status, message) {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify({ error: message }));
}
