/**
 * A run that a page has started, and of which it has not seen the end.
 * @typedef {object} Cursor
 * @property {string} runId
 * @property {string} body The request. Sent again, it sends the run from its start.
 * @property {boolean} begun Whether an event of the run has arrived, so that the server has the run.
 */
/**
 * Where the cursor of each thread is kept. The methods can return promises.
 * @typedef {object} Cursors
 * @property {(threadId: string) => Cursor | undefined | Promise<Cursor | undefined>} get
 * @property {(threadId: string, cursor: Cursor) => void | Promise<void>} set
 * @property {(threadId: string) => void | Promise<void>} delete
 */
/**
 * Keeps cursors as long as the page exists.
 * @returns {Cursors}
 */
export function memoryCursors(): Cursors;
/**
 * Keeps cursors in the storage of a browser: in sessionStorage, for the tab, also when it is
 * reloaded. A cursor has the messages of the request. One that does not fit is not kept.
 * @param {Pick<Storage, "getItem" | "setItem" | "removeItem">} [storage]
 * @returns {Cursors}
 */
export function sessionCursors(storage?: Pick<Storage, "getItem" | "setItem" | "removeItem">): Cursors;
/**
 * A run that a page has started, and of which it has not seen the end.
 */
export type Cursor = {
    runId: string;
    /**
     * The request. Sent again, it sends the run from its start.
     */
    body: string;
    /**
     * Whether an event of the run has arrived, so that the server has the run.
     */
    begun: boolean;
};
/**
 * Where the cursor of each thread is kept. The methods can return promises.
 */
export type Cursors = {
    get: (threadId: string) => Cursor | undefined | Promise<Cursor | undefined>;
    set: (threadId: string, cursor: Cursor) => void | Promise<void>;
    delete: (threadId: string) => void | Promise<void>;
};
