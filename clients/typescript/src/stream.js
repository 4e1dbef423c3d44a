import { ThreadError, succeeded } from "./error.js";
import { readEvents } from "./events.js";

/**
 * When a connection counts as broken, and when the next one is tried.
 * @typedef {object} Reconnection
 * @property {number} [stallTimeout] After how many milliseconds without a byte the connection counts as broken. The server sends a byte every 15 seconds. The default is 45,000.
 * @property {number} [retryDelay] The longest pause before the first attempt, in milliseconds. It doubles with each attempt that brings no event. The default is 250.
 * @property {number} [maxRetryDelay] The longest pause, in milliseconds. The default is 10,000.
 * @property {(error: unknown, pause: number) => void} [onRetry] Is called before each pause, with the reason.
 */

/**
 * How to read one run over several connections.
 * @typedef {object} Source
 * @property {(after: string | undefined, signal: AbortSignal) => Promise<Response>} request Asks for the events after an id, or for all.
 * @property {(last: Last) => boolean | Promise<boolean>} complete Reports whether a response that ended had all events.
 * @property {(last: Last) => boolean} [enough] Reports whether no event follows the last one.
 */

/**
 * The last event that was delivered.
 * @typedef {object} Last
 * @property {string} [id]
 * @property {string} [type]
 */

/**
 * Yields the data of each event of a run once and in order, over as many connections as it takes.
 * Ends with an error only if the signal is aborted, or if the server refuses the request for good.
 *
 * An event without an id is yielded only together with the next one that has an id. So after a
 * break there is always an exact position to continue from, or nothing has been yielded.
 * @param {Source} source
 * @param {AbortSignal} signal
 * @param {Reconnection} reconnection
 * @returns {AsyncGenerator<string, void, void>}
 */
export async function* readRun({ request, complete, enough = () => false }, signal, { stallTimeout = 45_000, retryDelay = 250, maxRetryDelay = 10_000, onRetry }) {
  /** @type {Last} */
  let last = {};
  let failures = 0; // since the last event
  for (;;) {
    const stall = new AbortController();
    const silence = () => stall.abort(new Error(`nothing arrived for ${stallTimeout} ms`));
    let timer = setTimeout(silence, stallTimeout);
    /** @type {unknown} */
    let reason = new Error("the response ended before the run");
    try {
      const response = await succeeded(await request(last.id, AbortSignal.any([signal, stall.signal])));
      if (!response.body) throw new Error("the response has no body");
      const events = readEvents(response.body, () => {
        clearTimeout(timer);
        timer = setTimeout(silence, stallTimeout);
      });
      /** @type {string[]} */
      let waiting = [];
      for await (const { id, data } of events) {
        if (id === "") throw new ThreadError("the server has lost events of this run, so it cannot be continued: connect to the thread again", { code: "log_rewound" });
        if (data === undefined) throw new Error("an event has no data");
        const { type } = JSON.parse(data);
        waiting.push(data);
        if (id === undefined) continue;
        if (!(position(id) > position(last.id ?? "0"))) throw new Error(`the id ${JSON.stringify(id)} cannot follow ${last.id}`);
        last = { id, type };
        failures = 0;
        yield* waiting.splice(0);
        if (enough(last)) return;
      }
      if (await complete(last)) return;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ThreadError && !error.temporary) throw error;
      reason = error;
    } finally {
      clearTimeout(timer);
    }
    const pause = pauseAfter(reason, failures++, retryDelay, maxRetryDelay);
    onRetry?.(reason, pause);
    await delay(pause, signal);
  }
}

/**
 * Returns how many milliseconds to wait before the next attempt, after some failures in a row.
 * @param {unknown} reason
 * @param {number} failures
 * @param {number} retryDelay
 * @param {number} maxRetryDelay
 */
export function pauseAfter(reason, failures, retryDelay, maxRetryDelay) {
  const asked = reason instanceof ThreadError ? (reason.retryAfter ?? 0) * 1000 : 0;
  return asked + Math.random() * Math.min(maxRetryDelay, retryDelay * 2 ** failures);
}

/**
 * Reports whether a run ends with an event of this type.
 * @param {Last} last
 */
export function endsRun({ type }) {
  return type === "RUN_FINISHED" || type === "RUN_ERROR";
}

/**
 * Returns the position in the id of an event, or NaN.
 * @param {string} id
 */
function position(id) {
  return Number(/^(\d+)(?:-[0-9a-f]{8})?$/.exec(id)?.[1]);
}

/**
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export function delay(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    function done() {
      signal.removeEventListener("abort", stop);
      resolve();
    }
    function stop() {
      clearTimeout(timer);
      reject(signal.reason);
    }
  });
}

/**
 * Returns an event without what clients before 1.0.0 refuse, so that the run would fail: the
 * outcome of a run that was cancelled.
 * @template {{type?: string, outcome?: {type?: string}}} E
 * @param {E} event
 * @returns {E}
 */
export function understood(event) {
  if (event.type !== "RUN_FINISHED" || event.outcome?.type !== "cancelled") return event;
  const { outcome, ...rest } = event;
  return /** @type {E} */ (rest);
}

/**
 * Returns a response with the events of a run, after the first of them has arrived. To its
 * reader, the run is one response that never breaks.
 * @param {AsyncGenerator<string, void, void>} events
 * @param {() => void} leave is called when the reader leaves.
 * @returns {Promise<Response>}
 */
export async function respond(events, leave) {
  const encoder = new TextEncoder();
  let next = Promise.resolve(await events.next());
  const reader = {
    async read() {
      const { done, value } = await next;
      if (done) return { done };
      next = events.next();
      next.catch(() => {}); // read fails with it
      return { done, value: encoder.encode(`data: ${value.replaceAll("\n", "\ndata: ")}\n\n`) };
    },
    cancel: async () => leave(),
  };
  // HttpAgent cancels the reader of a stream that has failed, and does not handle that this fails
  // too, as it does with a ReadableStream. So the body is only what HttpAgent needs.
  const response = new Response(null, { headers: { "Content-Type": "text/event-stream" } });
  return Object.defineProperty(response, "body", { value: { getReader: () => reader } });
}
