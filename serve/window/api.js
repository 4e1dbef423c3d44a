// Requests to the server. All paths are relative to the page, so that it works below any path.

// A Problem is an answer with an error (RFC 9457), or no answer at all.
export class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

// The token is kept for the tab alone.
let token = sessionStorage.getItem("p20export-token") || "";
export const setToken = (text) => {
  token = text;
  early.clear();
  if (text) sessionStorage.setItem("p20export-token", text);
  else sessionStorage.removeItem("p20export-token");
};

export const hasToken = () => token !== "";

// unauthorized is called with the Problem of each answer that asks for a token.
let unauthorized = () => {};
export const onUnauthorized = (call) => {
  unauthorized = call;
};

// threadPath returns the path of something of a thread. Browsers remove the ids "." and "..",
// also if they are escaped, so such threads cannot be shown.
export const threadPath = (id, ...rest) => ["threads", id, ...rest].map(encodeURIComponent).join("/");
export const agentPath = (name) => "agents/" + encodeURIComponent(name);

// withQuery appends the parameters that are not undefined, null or "" to a path.
export const withQuery = (path, parameters) => {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "")).toString();
  return query ? path + "?" + query : path;
};

const send = (path, options = {}) => {
  const headers = { ...options.headers };
  if (token) headers.Authorization = "Bearer " + token;
  return fetch(path, { ...options, headers, cache: "no-store", credentials: "same-origin", redirect: "error" });
};

// sendEarly sends a request whose response the next request of the same path gets.
const early = new Map();
export const sendEarly = (path) => {
  const response = send(path);
  response.catch(() => {}); // whoever gets it sees the error
  early.set(path, response);
};

// request sends a request and returns the response, or throws a Problem.
export const request = async (path, options) => {
  const sent = early.get(path);
  early.delete(path);
  let response;
  try {
    response = await (sent ?? send(path, options));
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "unreachable", "The server does not answer.");
  }
  if (response.ok) return response;
  let problem = {};
  try {
    problem = await response.json();
  } catch {
    // it is no problem document
  }
  const failure = new Problem(response.status, problem.code || "", problem.detail || "The server answered with status " + response.status + ".");
  if (response.status === 401) unauthorized(failure);
  throw failure;
};

// get returns the document at a path.
export const get = async (path, options) => (await request(path, options)).json();

// post sends a document and returns the response.
export const post = (path, document, options = {}) =>
  request(path, { ...options, method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(document) });
