// The threads of the log, newest first, and what changes of them.
import { get, withQuery } from "./api.js";
import { localTime } from "./formats.js";
import { endWord } from "./shell.js";

const pageSize = 1000; // threads of a page, while the list is loaded
const pollSize = 100; // threads of the page that is asked for again and again
const mostThreads = 100000; // the list has at most so many
const pollTime = 2000; // milliseconds between two polls
const longestWait = 30000; // and between two attempts, if the server does not answer
const patience = 20000; // milliseconds until a request is given up

// newRow returns a thread of the server's answer with what the list sorts, shows and searches.
const newRow = (thread) => {
  const run = thread.latest ?? {};
  const started = Date.parse(run.started_at ?? ""), ended = Date.parse(run.last_at ?? "");
  const time = Number.isNaN(started) ? "" : localTime(new Date(started));
  return {
    ...thread, started, time,
    end: run.end ?? null, agent: run.agent ?? "",
    micros: (ended - started) * 1000,
    // Times of the server have six fraction digits or none.
    changed: thread.updated_at.length === 20 ? thread.updated_at.slice(0, 19) + ".000000Z" : thread.updated_at,
    text: [thread.thread_id, run.run_id ?? "", run.agent ?? "", endWord(run.end), time].join("\n").toLowerCase(),
  };
};

const newer = (a, b) => (a.changed !== b.changed ? (a.changed < b.changed ? 1 : -1) : a.thread_id < b.thread_id ? -1 : a.thread_id > b.thread_id ? 1 : 0);

// pause waits for a time, and longer while nobody sees the page. It ends early when the page is
// seen again.
const pause = (milliseconds, signal) => new Promise((done) => {
  let timer;
  const end = () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", shown);
    signal.removeEventListener("abort", end);
    done();
  };
  const shown = () => {
    if (!document.hidden) end();
  };
  document.addEventListener("visibilitychange", shown);
  signal.addEventListener("abort", end);
  timer = setTimeout(() => document.hidden || end(), milliseconds);
});

// newThreads returns an empty list, which follow fills and keeps up to date.
export const newThreads = () => {
  const known = new Map(); // rows by the id of the thread
  let cursor; // of the next page of older threads; undefined: there was none yet, null: there is none
  const list = {
    rows: [], // newest first
    problem: null, // why the last request failed
    added: 0, // how many threads were new or changed since the list was complete
    find: "", scroll: 0, active: null, // what was searched for, how far the list was scrolled, and the thread that had the focus
    complete: () => cursor === null,
    begun: () => cursor !== undefined,
  };

  // merge takes the threads of an answer, and reports whether its last one was known.
  const merge = (threads) => {
    let last = true;
    let changes = 0;
    for (const thread of threads) {
      const row = newRow(thread);
      const before = known.get(thread.thread_id);
      last = before?.changed === row.changed && before.end === row.end && before.sealed === row.sealed && before.packed === row.packed;
      if (last || before?.changed > row.changed) continue;
      known.set(thread.thread_id, row);
      changes++;
    }
    return { last, changes };
  };
  const sort = () => {
    list.rows = [...known.values()].sort(newer);
  };

  const ask = (signal, limit, after) => get(withQuery("threads", { order: "newest", limit, after }), { signal: AbortSignal.any([signal, AbortSignal.timeout(patience)]) });

  // older loads the next page of older threads.
  const older = async (signal) => {
    const page = await ask(signal, pageSize, cursor);
    merge(page.threads);
    cursor = known.size < mostThreads ? page.next : null;
    sort();
  };

  // newest loads what has changed, and removes the threads that were deleted of the first page.
  // It reports whether anything has changed.
  const newest = async (signal) => {
    let changes = 0;
    for (let after, first = true; first || after; first = false) {
      const page = await ask(signal, pollSize, after);
      const merged = merge(page.threads);
      changes += merged.changes;
      if (first) {
        const there = new Set(page.threads.map((t) => t.thread_id));
        const oldest = page.next === null ? "" : newRow(page.threads.at(-1)).changed;
        for (const row of known.values()) {
          if (row.changed <= oldest) continue;
          if (!there.has(row.thread_id)) {
            known.delete(row.thread_id);
            changes++;
          }
        }
      }
      if (merged.last) break;
      after = page.next;
    }
    if (changes) {
      sort();
      list.added += changes;
    }
    return changes > 0;
  };

  // follow keeps the list up to date until the signal, and calls changed after each change.
  list.follow = async (changed, signal) => {
    let wait = pollTime;
    let due = 0; // when newest is due
    while (!signal.aborted) {
      try {
        let news = true;
        if (cursor !== null && (cursor === undefined || performance.now() < due)) {
          await older(signal);
          due ||= performance.now() + pollTime;
        } else {
          news = await newest(signal);
          due = performance.now() + pollTime;
        }
        if (signal.aborted) return;
        if (list.problem || news) {
          list.problem = null;
          changed();
        }
        wait = pollTime;
        if (cursor === null) await pause(pollTime, signal);
      } catch (error) {
        if (signal.aborted || error.status === 401) return;
        if (error.status === 400) cursor = undefined; // another version of the server
        list.problem = error;
        changed();
        await pause(wait, signal);
        wait = Math.min(2 * wait, longestWait);
      }
    }
  };
  return list;
};
