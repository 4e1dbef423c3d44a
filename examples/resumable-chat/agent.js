import { HttpAgent, runHttpRequest, transformHttpEventStream } from "@ag-ui/client";

/**
 * An agent behind p20export serve. Its runs go on when the page is closed, and connectAgent
 * joins the one that is open, or else the last one.
 */
export class ResumableAgent extends HttpAgent {
  /** @param {{server: string, agent: string, threadId: string}} config */
  constructor({ server, agent, ...config }) {
    super({ ...config, url: `${server}/agents/${encodeURIComponent(agent)}` });
    this.server = server;
  }

  /** Returns the address of something in the thread, such as its runs. */
  address(...path) {
    return [this.server, "threads", ...[this.threadId, ...path].map(encodeURIComponent)].join("/");
  }

  // The client has no implementation of this method. What the server sends begins with all
  // messages and the state, so the request has none.
  connect(input) {
    const request = this.requestInit({ ...input, messages: [], state: undefined });
    return transformHttpEventStream(runHttpRequest(() => this.fetch(this.address("connect"), request)));
  }

  // runAgent creates an AbortController for each run, but connectAgent does not. The server
  // sends the conversation again, with the interrupts of its last run.
  connectAgent(parameters, subscriber) {
    this.abortController = new AbortController();
    this.messages = [];
    this.state = {};
    this.pendingInterrupts = [];
    return super.connectAgent(parameters, subscriber);
  }

  // A request can name the run that it continues, but runAgent has no parameter for it.
  prepareRunAgentInput(parameters) {
    const input = super.prepareRunAgentInput(parameters);
    return parameters?.parentRunId ? { ...input, parentRunId: parameters.parentRunId } : input;
  }

  /** Returns the runs of the thread, oldest first. */
  async runs() {
    const response = await this.request(this.address("runs"));
    return response.status === 404 ? [] : (await read(response)).runs;
  }

  /** Replaces the messages and the state by those at the end of a run. */
  async restore(runId) {
    const restored = await read(await this.request(`${this.address("restore")}?run=${encodeURIComponent(runId)}`));
    this.setState(restored.state);
    this.setMessages(restored.messages);
    this.pendingInterrupts = restored.interrupts;
  }

  /** Ends a run, also one that another page started. */
  async cancel(runId) {
    await read(await this.request(this.address("runs", runId, "cancel"), { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" }));
  }

  /** Sends a request with the headers of this agent, such as Authorization. */
  request(address, options) {
    return this.fetch(address, { ...options, headers: { ...this.headers, ...options?.headers } });
  }
}

/** Returns the JSON of a response. Errors of the server are problem details (RFC 9457). */
async function read(response) {
  const body = await response.json();
  if (!response.ok) {
    throw Object.assign(new Error(body.detail ?? body.title), { status: response.status, code: body.code });
  }
  return body;
}
