import { HttpAgent } from "@ag-ui/client";
import { memoryCursors } from "./cursors.js";
import { ThreadError, succeeded } from "./error.js";
import { endsRun, readRun, respond, understood } from "./stream.js";

/** @import {AgentSubscriber, HttpAgentConfig, RunAgentInput, RunAgentParameters, RunAgentResult} from "@ag-ui/client" */
/** @import {Cursors} from "./cursors.js" */
/** @import {Reconnection, Source} from "./stream.js" */

/**
 * The settings of a ThreadAgent: those of HttpAgent, and these. The address of the agent is
 * `url`, or `server` and `agent`.
 * @typedef {Omit<HttpAgentConfig, "url"> & Reconnection & ({url: string} | {server: string, agent: string}) & {cursors?: Cursors}} ThreadAgentConfig
 */

/**
 * A run of a thread, as p20export serve lists it. More members are in its documentation.
 * @typedef {{run_id: string, parent_run_id: string | null, end: "open" | "finished" | "interrupted" | "cancelled" | "failed" | "cut", [member: string]: unknown}} Run
 */

/**
 * The parameters of a run, which can name the earlier run that it continues.
 * @typedef {RunAgentParameters & {parentRunId?: string, abortController?: AbortController}} ThreadRunParameters
 */

/**
 * An agent behind p20export serve. Its runs outlive the connection and the page: when the
 * connection breaks, the run goes on where it was, and its subscribers notice nothing.
 */
export class ThreadAgent extends HttpAgent {
  /** @param {ThreadAgentConfig} config */
  constructor({ cursors = memoryCursors(), stallTimeout, retryDelay, maxRetryDelay, onRetry, ...config }) {
    const { url = "", server, agent, ...rest } = /** @type {HttpAgentConfig & {server?: string, agent?: string}} */ (config);
    const address = server === undefined ? url : `${server.replace(/\/$/, "")}/agents/${encodeURIComponent(agent ?? "")}`;
    const [, base] = /^(.*)\/agents\/[^/?#]+\/?$/.exec(address) ?? [];
    if (base === undefined) throw new TypeError(`@p20export/client: the URL ${JSON.stringify(address)} does not end with /agents/NAME`);
    super({ ...rest, url: address });
    /** The address of the server. */
    this.server = base;
    this.cursors = cursors;
    /** @type {Reconnection} */
    this.reconnection = { stallTimeout, retryDelay, maxRetryDelay, onRetry };
  }

  /**
   * Sends a request and reads the events of its run. runAgent calls this method.
   * @param {RunAgentInput} input
   * @returns {ReturnType<HttpAgent["run"]>}
   */
  run(input) {
    const agent = this;
    const { threadId, cursors } = this;
    return observe(this, input, async function* (url, init, signal) {
      const kept = await cursors.get(threadId);
      // A run that is resumed repeats its request byte for byte.
      let cursor = kept?.runId === input.runId ? kept : { runId: input.runId, body: String(init.body), begun: false };
      await cursors.set(threadId, cursor);
      /** @type {Source} */
      const source = {
        request: (after, signal) => {
          const headers = new Headers(init.headers);
          if (after !== undefined) headers.set("Last-Event-ID", after);
          return agent.fetch(url, { ...init, body: cursor.body, headers, signal });
        },
        complete: endsRun,
      };
      try {
        for await (const data of readRun(source, signal, agent.reconnection)) {
          if (!cursor.begun) {
            cursor = { ...cursor, begun: true };
            await cursors.set(threadId, cursor);
          }
          yield data;
        }
      } finally {
        await cursors.delete(threadId);
      }
    });
  }

  /**
   * Joins the run of the thread that began last. connectAgent calls this method.
   * @protected
   * @param {RunAgentInput} input
   * @returns {ReturnType<HttpAgent["run"]>}
   */
  connect(input) {
    /** @type {ThreadAgent} The agent as it is now: its thread can change while the run goes on. */
    const now = Object.create(this, { threadId: { value: this.threadId } });
    // The response begins with all messages and the state, so the request has none.
    return observe(this, { ...input, messages: [], state: {} }, (_, init, signal) => {
      /** @type {Source} */
      const source = {
        request: (after, signal) =>
          after === undefined
            ? now.fetch(now.address("connect"), { ...init, signal })
            : now.fetch(`${now.address("events")}?after=${after}`, { headers: init.headers, signal }),
        enough: endsRun,
        // The response for a thread without runs is empty. So can be one that was interrupted.
        complete: async ({ id }) => id === undefined && (await now.runs()).length === 0,
      };
      return readRun(source, signal, this.reconnection);
    });
  }

  /**
   * Joins the thread: its messages and its state replace those of this agent, and if a run is
   * open, its events follow until it ends.
   * @param {ThreadRunParameters} [parameters]
   * @param {AgentSubscriber} [subscriber]
   * @returns {Promise<RunAgentResult>}
   */
  connectAgent(parameters, subscriber) {
    this.abortController = parameters?.abortController ?? new AbortController();
    // Subscribers are told of the messages that arrive, and not that there are none until then.
    // The client sends nothing while it knows of an open interrupt.
    this.messages = [];
    this.state = {};
    this.pendingInterrupts = [];
    return super.connectAgent(parameters, subscriber);
  }

  /**
   * Starts a run.
   * @param {ThreadRunParameters} [parameters]
   * @param {AgentSubscriber} [subscriber]
   * @returns {Promise<RunAgentResult>}
   */
  runAgent(parameters, subscriber) {
    return super.runAgent(parameters, subscriber);
  }

  /**
   * Continues after a reload. If the last run of the thread was started with these cursors and
   * its end was not seen, its messages are those of its request, and all its events follow,
   * from the first. A request that has not reached the server is sent. Otherwise, joins the
   * thread, as connectAgent does.
   * @param {ThreadRunParameters} [parameters]
   * @param {AgentSubscriber} [subscriber]
   * @returns {Promise<RunAgentResult>}
   */
  async resume(parameters, subscriber) {
    const cursor = await this.cursors.get(this.threadId);
    if (cursor) {
      const runs = await this.runs();
      const index = runs.findIndex((run) => run.run_id === cursor.runId);
      if (index < 0 ? !cursor.begun : index === runs.length - 1) {
        const input = JSON.parse(cursor.body);
        this.setConversation(input.messages, input.state ?? {});
        return this.runAgent({ ...parameters, ...input }, subscriber);
      }
      await this.cursors.delete(this.threadId);
    }
    return this.connectAgent(parameters, subscriber);
  }

  /**
   * Returns the runs of the thread, oldest first.
   * @returns {Promise<Run[]>}
   */
  async runs() {
    try {
      return (await this.request(this.address("runs"))).runs;
    } catch (error) {
      if (error instanceof ThreadError && error.code === "unknown_thread") return [];
      throw error;
    }
  }

  /**
   * Replaces the messages and the state by those at the end of a run, or at the end of the thread.
   * To continue there, give the id as `parentRunId` to runAgent.
   * @param {string} [runId]
   * @returns {Promise<void>}
   */
  async restore(runId) {
    const query = runId === undefined ? "" : `?run=${encodeURIComponent(runId)}`;
    const { messages, state, interrupts } = await this.request(this.address("restore") + query);
    this.setConversation(messages, state, interrupts);
  }

  /**
   * Ends a run, also one that another page started; by default the one that is open. Returns how
   * it ended, or undefined if none is open. (abortRun only leaves the run: the server ends it
   * when the next one begins.)
   * @param {string} [runId]
   * @returns {Promise<Run["end"] | undefined>}
   */
  async cancel(runId) {
    runId ??= (await this.runs()).findLast((run) => run.end === "open")?.run_id;
    if (runId === undefined) return undefined;
    const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" };
    return (await this.request(this.address("runs", runId, "cancel"), init)).end;
  }

  /** Stops the delivery of events and closes the connection. The run goes on at the server. */
  async detachActiveRun() {
    const { abortController } = this;
    await super.detachActiveRun();
    abortController.abort();
  }

  /** @returns {ThreadAgent} */
  clone() {
    const { server, cursors, reconnection } = this;
    return Object.assign(/** @type {ThreadAgent} */ (super.clone()), { server, cursors, reconnection });
  }

  /**
   * Adds the run that a run continues, for which runAgent has no parameter.
   * @protected
   * @param {ThreadRunParameters} [parameters]
   * @returns {RunAgentInput}
   */
  prepareRunAgentInput(parameters) {
    const input = super.prepareRunAgentInput(parameters);
    return parameters?.parentRunId ? { ...input, parentRunId: parameters.parentRunId } : input;
  }

  /**
   * Replaces what the agent knows of the conversation.
   * @protected
   * @param {HttpAgent["messages"]} messages
   * @param {HttpAgent["state"]} state
   * @param {HttpAgent["pendingInterrupts"]} [interrupts]
   */
  setConversation(messages, state, interrupts = []) {
    this.setMessages(messages);
    this.setState(state);
    this.pendingInterrupts = interrupts;
  }

  /**
   * Returns the address of something in the thread, such as its runs.
   * @protected
   * @param {...string} path
   */
  address(...path) {
    return [this.server, "threads", ...[this.threadId, ...path].map(encodeURIComponent)].join("/");
  }

  /**
   * Returns the JSON of an answer to a request with the headers of this agent.
   * @protected
   * @param {string} address
   * @param {RequestInit} [init]
   * @returns {Promise<any>}
   */
  async request(address, init) {
    const response = await this.fetch(address, { ...init, headers: { ...this.headers, ...init?.headers } });
    return (await succeeded(response)).json();
  }
}

/**
 * Returns what HttpAgent makes of the events of a run, as if they came in one response.
 * @param {ThreadAgent} agent
 * @param {RunAgentInput} input
 * @param {(url: string, init: RequestInit, signal: AbortSignal) => AsyncGenerator<string, void, void>} read
 * @returns {ReturnType<HttpAgent["run"]>}
 */
function observe(agent, input, read) {
  /** @type {HttpAgent["fetch"]} */
  const fetch = (url, init) => {
    const left = new AbortController();
    const signals = init.signal ? [init.signal, left.signal] : [left.signal];
    return respond(translated(read(url, init, AbortSignal.any(signals))), () => left.abort());
  };
  return HttpAgent.prototype.run.call(Object.create(agent, { fetch: { value: fetch } }), input);
}

/**
 * Removes what the client cannot read.
 * @param {AsyncGenerator<string, void, void>} events
 */
async function* translated(events) {
  const old = !("maxProtocolVersion" in HttpAgent.prototype);
  for await (const data of events) {
    yield old && data.includes('"cancelled"') ? JSON.stringify(understood(JSON.parse(data))) : data;
  }
}
