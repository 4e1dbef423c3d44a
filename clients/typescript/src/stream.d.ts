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
export function readRun({ request, complete, enough }: Source, signal: AbortSignal, { stallTimeout, retryDelay, maxRetryDelay, onRetry }: Reconnection): AsyncGenerator<string, void, void>;
/**
 * Returns how many milliseconds to wait before the next attempt, after some failures in a row.
 * @param {unknown} reason
 * @param {number} failures
 * @param {number} retryDelay
 * @param {number} maxRetryDelay
 */
export function pauseAfter(reason: unknown, failures: number, retryDelay: number, maxRetryDelay: number): number;
/**
 * Reports whether a run ends with an event of this type.
 * @param {Last} last
 */
export function endsRun({ type }: Last): boolean;
/**
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export function delay(milliseconds: number, signal: AbortSignal): Promise<void>;
/**
 * Returns an event without what clients before 1.0.0 refuse, so that the run would fail: the
 * outcome of a run that was cancelled.
 * @template {{type?: string, outcome?: {type?: string}}} E
 * @param {E} event
 * @returns {E}
 */
export function understood<E extends {
    type?: string;
    outcome?: {
        type?: string;
    };
}>(event: E): E;
/**
 * Returns a response with the events of a run, after the first of them has arrived. To its
 * reader, the run is one response that never breaks.
 * @param {AsyncGenerator<string, void, void>} events
 * @param {() => void} leave is called when the reader leaves.
 * @returns {Promise<Response>}
 */
export function respond(events: AsyncGenerator<string, void, void>, leave: () => void): Promise<Response>;
/**
 * When a connection counts as broken, and when the next one is tried.
 */
export type Reconnection = {
    /**
     * After how many milliseconds without a byte the connection counts as broken. The server sends a byte every 15 seconds. The default is 45,000.
     */
    stallTimeout?: number | undefined;
    /**
     * The longest pause before the first attempt, in milliseconds. It doubles with each attempt that brings no event. The default is 250.
     */
    retryDelay?: number | undefined;
    /**
     * The longest pause, in milliseconds. The default is 10,000.
     */
    maxRetryDelay?: number | undefined;
    /**
     * Is called before each pause, with the reason.
     */
    onRetry?: ((error: unknown, pause: number) => void) | undefined;
};
/**
 * How to read one run over several connections.
 */
export type Source = {
    /**
     * Asks for the events after an id, or for all.
     */
    request: (after: string | undefined, signal: AbortSignal) => Promise<Response>;
    /**
     * Reports whether a response that ended had all events.
     */
    complete: (last: Last) => boolean | Promise<boolean>;
    /**
     * Reports whether no event follows the last one.
     */
    enough?: ((last: Last) => boolean) | undefined;
};
/**
 * The last event that was delivered.
 */
export type Last = {
    id?: string | undefined;
    type?: string | undefined;
};
