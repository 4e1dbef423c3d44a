/**
 * Returns a response if it is a success, and otherwise throws the error in it.
 * @param {Response} response
 * @returns {Promise<Response>}
 */
export function succeeded(response: Response): Promise<Response>;
/**
 * An answer of p20export serve that is not a success. Errors of the server itself are problem
 * documents (RFC 9457), with a code from the table in its documentation.
 */
export class ThreadError extends Error {
    /**
     * @param {string} message
     * @param {{status?: number, code?: string, detail?: string, runId?: string, retryAfter?: number, fromAgent?: boolean}} [properties]
     */
    constructor(message: string, { status, code, detail, runId, retryAfter, fromAgent }?: {
        status?: number;
        code?: string;
        detail?: string;
        runId?: string;
        retryAfter?: number;
        fromAgent?: boolean;
    });
    /** The HTTP status. */
    status: number | undefined;
    /** The code of the problem, such as `thread_busy`; `log_rewound` if the server has lost events. */
    code: string | undefined;
    /** What is wrong, for people; or the body of the agent's answer. */
    detail: string | undefined;
    /** The run that is active, if the code is `thread_busy`. */
    runId: string | undefined;
    /** How many seconds the server asks to wait. */
    retryAfter: number | undefined;
    /** Whether the agent refused the request, and not the server. */
    fromAgent: boolean;
    /** Whether the same request can succeed later. */
    get temporary(): boolean;
}
