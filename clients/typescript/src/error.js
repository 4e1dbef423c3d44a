/**
 * An answer of p20export serve that is not a success. Errors of the server itself are problem
 * documents (RFC 9457), with a code from the table in its documentation.
 */
export class ThreadError extends Error {
  /**
   * @param {string} message
   * @param {{status?: number, code?: string, detail?: string, runId?: string, retryAfter?: number, fromAgent?: boolean}} [properties]
   */
  constructor(message, { status, code, detail, runId, retryAfter, fromAgent = false } = {}) {
    super(message);
    this.name = "ThreadError";
    /** The HTTP status. */
    this.status = status;
    /** The code of the problem, such as `thread_busy`; `log_rewound` if the server has lost events. */
    this.code = code;
    /** What is wrong, for people; or the body of the agent's answer. */
    this.detail = detail;
    /** The run that is active, if the code is `thread_busy`. */
    this.runId = runId;
    /** How many seconds the server asks to wait. */
    this.retryAfter = retryAfter;
    /** Whether the agent refused the request, and not the server. */
    this.fromAgent = fromAgent;
  }

  /** Whether the same request can succeed later. */
  get temporary() {
    return !this.fromAgent && [408, 425, 429, 502, 503, 504].includes(this.status ?? 0) && !this.code?.startsWith("agent_");
  }
}

/**
 * Returns a response if it is a success, and otherwise throws the error in it.
 * @param {Response} response
 * @returns {Promise<Response>}
 */
export async function succeeded(response) {
  if (response.ok) return response;
  const { status, headers } = response;
  const text = await response.text();
  const fromAgent = headers.has("P20export-Upstream");
  const problem = fromAgent ? {} : parse(text);
  const detail = problem.detail ?? problem.title ?? text;
  throw new ThreadError(`${status} ${problem.code ?? response.statusText}${detail && `: ${detail}`}`, {
    status,
    code: problem.code,
    detail,
    runId: problem.run_id,
    retryAfter: Number.parseInt(headers.get("Retry-After") ?? "", 10) || undefined,
    fromAgent,
  });
}

/**
 * Returns the problem in a text. A server between may have sent something else.
 * @param {string} text
 * @returns {{title?: string, detail?: string, code?: string, run_id?: string}}
 */
function parse(text) {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
