import { AgentRunner, createRunEventFinalizer } from "@copilotkit/runtime/v2";
import { concat, Observable, of, ReplaySubject, throwError } from "rxjs";
import { ThreadError, succeeded } from "./error.js";
import { endsRun, pauseAfter, readRun, understood } from "./stream.js";

/** @import { BaseEvent } from "@ag-ui/client" */
/** @import { Source } from "./stream.js" */
/** @import { AgentRunnerConnectRequest, AgentRunnerIsRunningRequest, AgentRunnerRunRequest, AgentRunnerStopRequest } from "@copilotkit/runtime/v2" */

/** A silent agent appends an empty batch after this time. serve waits 30 seconds for it. */
const HEARTBEAT = 10_000;
/** A request without an answer is sent again after this time. */
const ANSWER = 10_000;
/** A server that does not answer is given up after this time. */
const PATIENCE = 300_000;
/** The limit of serve for a batch. */
const BATCH_EVENTS = 1000;
/** A batch of this many characters gets no more events. */
const BATCH_CHARACTERS = 1 << 20;

/**
 * Keeps the threads of CopilotKit's runtime in the log of `p20export serve --allow-append`:
 *
 *     new CopilotRuntime({ agents, runner: new ThreadRunner("http://127.0.0.1:8080") })
 *
 * Agents run in the runtime. Their events reach clients when the log has them durably.
 */
export class ThreadRunner extends AgentRunner {
  #log;
  /** @type {Map<string, Run>} The active runs of this runner, by thread. */
  #runs = new Map();

  /**
   * @param {string} server The URL of p20export serve.
   * @param {object} [options]
   * @param {Record<string, string>} [options.headers] Headers for each request, such as Authorization.
   */
  constructor(server, { headers = {} } = {}) {
    super();
    this.#log = new Log(server, headers);
  }

  /**
   * Runs an agent. The run goes on when the subscriber leaves.
   *
   * @param {AgentRunnerRunRequest} request
   * @returns {Observable<BaseEvent>}
   */
  run(request) {
    const { threadId } = request;
    if (this.#runs.has(threadId)) return refused(busy());
    const run = new Run(this.#log, request);
    const remove = () => this.#runs.delete(threadId);
    this.#runs.set(threadId, run);
    run.events.subscribe({ error: remove, complete: remove });
    run.start();
    return run.events.asObservable();
  }

  /**
   * Sends the conversation so far, and then the events of the last run until it ends.
   *
   * @param {AgentRunnerConnectRequest} request
   * @returns {Observable<BaseEvent>}
   */
  connect({ threadId }) {
    return new Observable((subscriber) => {
      const left = new AbortController();
      (async () => {
        for await (const event of this.#log.join(threadId, left.signal)) subscriber.next(event);
      })().then(
        () => subscriber.complete(),
        (error) => subscriber.error(error),
      );
      return () => left.abort();
    });
  }

  /**
   * Reports whether a run of the thread is active, in this runtime or another.
   *
   * @param {AgentRunnerIsRunningRequest} request
   */
  async isRunning({ threadId }) {
    return this.#runs.has(threadId) || (await this.#log.active(threadId)) !== undefined;
  }

  /**
   * Stops the active run of the thread, in this runtime or another. Returns false if there is
   * none, or if it is not the run that the request names.
   *
   * @param {AgentRunnerStopRequest} request
   */
  async stop({ threadId, runId }) {
    const run = this.#runs.get(threadId);
    const active = run ? run.runId : await this.#log.active(threadId);
    if (active === undefined || (runId ?? active) !== active) return false;
    return run ? run.stop() : this.#log.cancel(threadId, active);
  }
}

/** A run of an agent in this process. */
class Run {
  /** @type {ReplaySubject<BaseEvent>} The events that the log has. */
  events = new ReplaySubject();
  /** @type {{event: BaseEvent, text: string}[]} The events that it does not have yet. */
  #waiting = [];
  #sequence = 0;
  #producer = crypto.randomUUID();
  #log;
  #request;
  #stopped = false;
  #ended = false;
  #wake = () => {};

  /**
   * @param {Log} log
   * @param {AgentRunnerRunRequest} request
   */
  constructor(log, request) {
    this.#log = log;
    this.#request = request;
  }

  get runId() {
    return this.#request.input.runId;
  }

  /** Begins the run in the log before the agent starts, so that no other runtime runs one. */
  async start() {
    const { threadId } = this.#request;
    try {
      this.#add(/** @type {BaseEvent} */ ({ type: "RUN_STARTED", threadId, runId: this.runId }));
      await this.#append();
      if (!this.#ended) this.#runAgent();
      while (!this.#ended) {
        await this.#more();
        await this.#append();
      }
      this.events.complete();
    } catch (error) {
      refused(error).subscribe(this.events);
      this.#abort();
    }
  }

  /** Aborts the agent. The run ends when the agent has. */
  stop() {
    if (this.#stopped) return false;
    this.#stopped = true;
    this.#abort();
    return true;
  }

  #abort() {
    try {
      this.#request.agent.abortRun();
    } catch (error) {
      console.error("The agent cannot be aborted:", error);
    }
  }

  /** Runs the agent, and ends what it leaves open as InMemoryAgentRunner does. */
  async #runAgent() {
    const { agent, input } = this.#request;
    const finalizer = createRunEventFinalizer();
    let interruptionMessage;
    try {
      if (!this.#stopped) {
        await agent.runAgent(input, {
          onEvent: ({ event }) => {
            if (event.type === "RUN_STARTED") return; // start has sent it
            finalizer.observe(event);
            this.#add(event);
          },
        });
      }
    } catch (error) {
      interruptionMessage = error instanceof Error ? error.message : String(error);
    }
    for (const event of finalizer.finalize({ stopRequested: this.#stopped, interruptionMessage })) this.#add(event);
  }

  /** @param {BaseEvent} event */
  #add(event) {
    // The agent may have its own ids, and the events of finalize have none.
    if (event.type === "RUN_FINISHED") event = { ...event, threadId: this.#request.threadId, runId: this.runId };
    this.#waiting.push({ event, text: JSON.stringify(event) });
    this.#wake();
  }

  /** Waits for an event, or for the time of an empty batch. */
  async #more() {
    if (this.#waiting.length > 0) return;
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, HEARTBEAT);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
    });
  }

  /** Appends a batch and emits it. If the run has ended without it, emits its end instead. */
  async #append() {
    const { input, threadId } = this.#request;
    const batch = this.#take();
    const head = JSON.stringify({ runId: this.runId, producer: this.#producer, sequence: this.#sequence, ...(this.#sequence === 0 && { input }) });
    const body = `${head.slice(0, -1)},"events":[${batch.map(({ text }) => text).join()}]}`;
    const { appended, open } = await this.#log.append(threadId, body);
    if (appended) for (const { event } of batch) this.#emit(event);
    if (open || this.#ended) return;
    this.#abort();
    for await (const event of this.#log.rest(threadId, this.runId, this.#sequence)) this.#emit(event);
  }

  /** Removes the next batch from what is waiting. Nothing follows the end of a run. */
  #take() {
    let [events, characters] = [0, 0];
    for (const { event, text } of this.#waiting.slice(0, BATCH_EVENTS)) {
      if (characters >= BATCH_CHARACTERS) break;
      events++;
      characters += text.length;
      if (endsRun(event)) break;
    }
    return this.#waiting.splice(0, events);
  }

  /** @param {BaseEvent} event */
  #emit(event) {
    this.#sequence++;
    this.#ended = endsRun(event);
    this.events.next(event);
  }
}

/**
 * Returns the end of a run that the log does not accept. The event is for the page, and is not
 * in the log.
 *
 * @param {any} error
 * @returns {Observable<BaseEvent>}
 */
const refused = (error) => concat(of(/** @type {any} */ ({ type: "RUN_ERROR", message: error.message })), throwError(() => error));

/** The HTTP interface of serve. Its methods repeat requests while the server cannot be reached. */
class Log {
  #threads;
  #headers;

  /**
   * @param {string} server
   * @param {Record<string, string>} headers
   */
  constructor(server, headers) {
    this.#threads = `${new URL(server).href.replace(/\/+$/, "")}/threads`;
    this.#headers = new Headers(headers);
    this.#headers.set("Content-Type", "application/json");
  }

  /**
   * Appends a batch. The same batch counts once. Reports whether the log has it, and whether
   * the run is open.
   *
   * @param {string} threadId
   * @param {string} body
   */
  async append(threadId, body) {
    const answer = await this.#ask("POST", [threadId, "events"], body, "run_ended");
    return { appended: answer !== undefined, open: answer?.end === null };
  }

  /**
   * Returns the id of the active run of a thread.
   *
   * @param {string} threadId
   * @returns {Promise<string | undefined>}
   */
  async active(threadId) {
    const last = (await this.#ask("GET", [threadId, "runs"], undefined, "unknown_thread"))?.runs.at(-1);
    return last?.end === "open" ? last.run_id : undefined;
  }

  /**
   * Cancels a run. Returns false if it has ended.
   *
   * @param {string} threadId
   * @param {string} runId
   */
  async cancel(threadId, runId) {
    return (await this.#ask("POST", [threadId, "runs", runId, "cancel"], "{}", "run_ended")) !== undefined;
  }

  /**
   * Yields what a client needs to join the last run of a thread, and its events until it ends.
   * A thread without runs has none.
   *
   * @param {string} threadId
   * @param {AbortSignal} signal
   */
  async *join(threadId, signal) {
    yield* this.#read({
      request: (after, signal) => (after === undefined ? this.#request("POST", [threadId, "connect"], JSON.stringify({ threadId }), signal) : this.#events(threadId, after, signal)),
      enough: endsRun,
      complete: ({ id }) => id === undefined,
    }, signal);
  }

  /**
   * Yields the events of a run after the first ones.
   *
   * @param {string} threadId
   * @param {string} runId
   * @param {number} skip How many events are left out.
   */
  async *rest(threadId, runId, skip) {
    let number = -1; // of the events of the run
    const events = this.#read({ request: (after = "0", signal) => this.#events(threadId, after, signal), complete: () => false }, new AbortController().signal);
    for await (const event of events) {
      if (event.type === "RUN_STARTED") number = event.runId === runId ? 0 : -1;
      if (number < 0 || number++ < skip) continue;
      yield event;
      if (endsRun(event)) return;
    }
  }

  /**
   * @param {Source} source
   * @param {AbortSignal} signal
   * @returns {AsyncGenerator<any, void, void>}
   */
  async *#read(source, signal) {
    for await (const data of readRun(source, signal, {})) yield understood(JSON.parse(data));
  }

  /**
   * @param {string} threadId
   * @param {string} after
   * @param {AbortSignal} signal
   */
  #events(threadId, after, signal) {
    return this.#request("GET", [threadId, "events"], undefined, signal, `?after=${encodeURIComponent(after)}`);
  }

  /**
   * Returns the JSON of an answer, or undefined if the server refuses the request with a code.
   *
   * @param {string} method
   * @param {string[]} path
   * @param {string | undefined} body
   * @param {string} code
   */
  async #ask(method, path, body, code) {
    const since = Date.now();
    for (let failures = 0; ; failures++) {
      try {
        return await (await succeeded(await this.#request(method, path, body, AbortSignal.timeout(ANSWER)))).json();
      } catch (error) {
        if (error instanceof ThreadError && error.code === code) return undefined;
        if (error instanceof ThreadError && error.code === "thread_busy") throw busy();
        if (error instanceof ThreadError && !error.temporary || Date.now() - since > PATIENCE) throw error;
        await new Promise((resolve) => setTimeout(resolve, pauseAfter(error, failures, 200, 4000)));
      }
    }
  }

  /**
   * Sends a request about a thread.
   *
   * @param {string} method
   * @param {string[]} path
   * @param {string | undefined} body
   * @param {AbortSignal} signal
   */
  #request(method, path, body, signal, query = "") {
    return fetch([this.#threads, ...path.map(encodeURIComponent)].join("/") + query, { method, headers: this.#headers, body, signal });
  }
}

/** The error of CopilotKit's own runner. */
const busy = () => new Error("Thread already running");
