// How the runs of a conversation ended, and how their questions were answered.
import { request, threadPath, withQuery } from "./api.js";
import { useEffect, useRef, useState } from "./html.js";
import { json, parse } from "./thread_parts.js";

const maxNotes = 30; // runs of a conversation about which there are notes
const maxRequest = 1 << 20; // bytes of a request that is read for its answers

const string = (value) => (typeof value === "string" ? value : "");

// path returns the runs that lead to a run, the first one first.
const path = (runs, position) => {
  const all = [];
  for (let r = runs.find((one) => one.position === position); r; r = r.parent && r.parent < r.number ? runs[r.parent - 1] : null) all.push(r);
  return all.reverse();
};

// read reads how a run ended.
const read = async (thread, run, end, signal) => {
  const text = await (await request(withQuery(threadPath(thread, "moment"), { position: end, limit: 1 }), { signal })).text();
  const { messages, interrupts, entry } = parse(text);
  let event = {};
  try {
    event = parse(entry.text) ?? {};
  } catch {
    // it is not JSON, or only a part
  }
  return {
    run: run.position, id: run.run_id, end: run.end, code: run.closing_code || string(event.code), text: run.end === "failed" ? string(event.message) : "",
    count: messages.count, last: string(messages.list.at(-1)?.id), interrupts: Array.isArray(interrupts) ? interrupts : [],
  };
};

// answers reads the member resume of a request.
const answers = async (thread, position, signal) => {
  const input = parse(await (await request(threadPath(thread, "entries", position), { signal })).text());
  return Array.isArray(input?.resume) ? input.resume.filter((a) => a !== null && typeof a === "object") : [];
};

// useNotes returns notes about the runs that ended in another way than to finish, in the
// conversation of the moment and before its position.
export const useNotes = (thread, model) => {
  const known = useRef(new Map()); // notes by position and end of the run, and answers by position of the request
  const [, render] = useState(0);
  const { moment, runs, index } = model;
  const list = moment?.run && runs ? path(runs.runs, moment.run.position) : [];
  const ended = list
    .map((run, i) => ({ run, next: list[i + 1], end: index.end(run.position) }))
    .filter(({ run, end }) => run.end !== "finished" && run.end !== "open" && end !== undefined && end <= moment.position)
    .slice(-maxNotes);
  const requests = ended.map(({ run, next }) => {
    const position = run.end === "interrupted" && next ? index.request(next.position) : undefined;
    return position <= moment.position && index.bytes(position) <= maxRequest ? position : undefined;
  });
  const keys = ended.map(({ run, end }) => run.position + ":" + end);
  const wanted = keys.join() + "|" + requests.join();
  useEffect(() => {
    const stop = new AbortController();
    (async () => {
      try {
        for (let i = ended.length - 1; i >= 0; i--) {
          if (!known.current.has(keys[i])) known.current.set(keys[i], await read(thread, ended[i].run, ended[i].end, stop.signal));
          if (requests[i] && !known.current.has(requests[i])) known.current.set(requests[i], await answers(thread, requests[i], stop.signal));
          render((n) => n + 1);
        }
      } catch {
        // The notes are less than the moment: they are read again with the next one.
      }
    })();
    return () => stop.abort();
  }, [thread, wanted]);
  const all = keys.flatMap((key, i) => {
    const note = known.current.get(key);
    if (!note) return [];
    const given = known.current.get(requests[i]) ?? [];
    const asks = note.interrupts.map((interrupt) => ({ interrupt, answer: given.find((a) => a?.interruptId === interrupt?.id) }));
    return [{ ...note, asks, waits: !ended[i].next }];
  });
  // The same notes are the same list.
  const notes = useRef([]);
  if (json(all) !== json(notes.current)) notes.current = all;
  return notes.current;
};
