// What the page needs first is asked for before the rest of the page is loaded: a server that has
// read nothing of a thread takes a while for a moment of it.
import { sendEarly, threadPath, withQuery } from "./api.js";

// place returns what the query of the address names: a thread at a position, or the list with
// what is searched for.
export const place = () => {
  const query = new URLSearchParams(location.search);
  const at = /^[1-9]\d{0,15}$/.test(query.get("at") ?? "") ? Number(query.get("at")) : undefined;
  const thread = query.get("thread") || undefined;
  return thread ? { thread, at } : { find: query.get("find") ?? "" };
};

// few is the number of messages that are shown at first.
export const few = 100;

// momentPath returns the path of a moment of a thread.
export const momentPath = (thread, parameters) => withQuery(threadPath(thread, "moment"), parameters);

sendEarly("session");
const { thread, at } = place();
if (thread && thread !== "." && thread !== "..") sendEarly(momentPath(thread, { limit: few, position: at }));
