import { count, html, plain, plural, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, visible } from "./html.js";
import { duration } from "./formats.js";
import { matches, matchesEnd, parse, withEnd } from "./search.js";
import { announce, End, endWord, Failure, Link, useKeys, usePrint } from "./shell.js";

const around = 12; // rows above and below the part of the list that is seen
const announceTime = 10000; // milliseconds between two announcements of changes
const printed = 5000; // rows that are printed, at most
const typingTime = 400; // milliseconds after which what was typed is in the address

// Row is a row of the list. Its index is that in the list.
const Row = ({ row, index, go }) => html`<div role="row" class="thread" aria-rowindex=${index + 2}>
<span role="rowheader" class="name"><${Link} to=${{ thread: row.thread_id }} go=${go} data-thread=${row.thread_id} title=${plain(row.thread_id)}>${visible(row.thread_id)}<//></span>
<span role="cell" class="agent">${row.agent && visible(row.agent)}</span>
<span role="cell" class="ended"><${End} end=${row.end} /></span>
<span role="cell" class="started"><time datetime=${row.latest?.started_at ?? row.created_at}>${row.time}</time></span>
<span role="cell" class="num" data-is="Duration">${row.micros >= 0 ? duration(row.micros) : "–"}</span>
<span role="cell" class="num" data-is="Runs">${count.format(row.runs)}</span>
<span role="cell" class="num" data-is="Entries">${count.format(row.entries)}</span>
<span role="cell" class="num" data-is="Bytes">${count.format(row.bytes)}</span>
<span role="cell" class="num" data-is="Sealed up to">${row.sealed ? count.format(row.sealed) : "–"}</span>
</div>`;

const columns = [["Thread", ""], ["Agent", ""], ["Last run", ""], ["Began", ""], ["Duration", "num"], ["Runs", "num"], ["Entries", "num"], ["Bytes", "num"], ["Sealed up to", "num"]];

// Table shows the part of the rows that is seen. What is read does not move when rows come or go
// above it.
const Table = ({ rows, threads, go }) => {
  const table = useRef(null);
  const body = useRef(null);
  const height = useRef(0); // of a row, in pixels; 0 before the first
  const active = useRef(threads.active); // the id of the row that the keys are at
  const wanted = useRef(threads.active); // the id of the row that gets the focus
  const anchor = useRef(null); // what is read, see keep
  const [range, setRange] = useState([0, 2 * around]);
  const [above, setAbove] = useState(0); // rows that came above what is read

  const index = useMemo(() => new Map(rows.map((row, i) => [row.thread_id, i])), [rows]);
  const from = Math.max(0, Math.min(range[0], rows.length - 1)), to = Math.min(rows.length, range[1]);

  // look takes the part that is seen.
  const look = useCallback(() => {
    if (!height.current || !body.current) return;
    const top = -body.current.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / height.current) - around);
    const last = Math.ceil((top + innerHeight) / height.current) + around;
    setRange((was) => (was[0] === first && was[1] === last ? was : [first, last]));
    if (top <= 0) setAbove(0);
  }, []);

  // keep remembers what is read: the rows below the top of the window, if the list is scrolled.
  const keep = () => {
    const top = -body.current.getBoundingClientRect().top;
    const first = Math.ceil(top / (height.current || 1));
    anchor.current = top > 0 ? { rows, index, of: threads.find, seen: rows.slice(first, first + 2 * around) } : null;
  };

  // The height of the first row is that of all.
  useLayoutEffect(() => {
    const first = body.current.querySelector(".thread");
    if (!first) return undefined;
    const measure = () => {
      const now = first.getBoundingClientRect().height;
      if (!now || now === height.current) return;
      height.current = now;
      body.current.style.setProperty("--rows", String(rows.length));
      body.current.style.setProperty("--row", now + "px");
      look();
    };
    const observer = new ResizeObserver(measure);
    measure();
    observer.observe(first);
    return () => observer.disconnect();
  }, [rows.length > 0, from]);

  // Before the rows are shown, the page is scrolled so that what is read stays where it is.
  useLayoutEffect(() => {
    body.current.style.setProperty("--rows", String(rows.length));
    body.current.style.setProperty("--first", String(from));
    const was = anchor.current;
    if (was && was.rows !== rows && was.of === threads.find) {
      // A row that has changed itself goes to the top, so it is not what stays.
      const kept = was.seen.find((row) => index.has(row.thread_id) && rows[index.get(row.thread_id)].changed === row.changed);
      const moved = kept ? index.get(kept.thread_id) - was.index.get(kept.thread_id) : 0;
      if (moved) {
        scrollBy({ top: moved * height.current, behavior: "instant" });
        if (moved > 0) setAbove((n) => n + moved);
      }
    }
    keep();
    if (wanted.current !== null) {
      const link = [...body.current.querySelectorAll("a[data-thread]")].find((a) => a.dataset.thread === wanted.current);
      if (link) {
        wanted.current = null;
        link.focus({ preventScroll: true });
      }
    }
  });
  useEffect(() => {
    const scrolled = () => {
      look();
      keep();
      threads.scroll = scrollY;
    };
    addEventListener("scroll", scrolled, { passive: true });
    addEventListener("resize", look);
    addEventListener("afterprint", look);
    return () => {
      removeEventListener("afterprint", look);
      removeEventListener("scroll", scrolled);
      removeEventListener("resize", look);
    };
  }, [rows]);

  usePrint(() => setRange([0, printed]));

  // step moves the focus to a row.
  const step = (to) => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    if (!rows.length) return;
    active.current = wanted.current = rows[next].thread_id;
    const top = body.current.getBoundingClientRect().top + next * height.current;
    const head = table.current.querySelector(".head").getBoundingClientRect().height;
    if (top < head) scrollBy({ top: top - head, behavior: "instant" });
    else if (top + height.current > innerHeight) scrollBy({ top: top + height.current - innerHeight, behavior: "instant" });
    look();
    setRange((was) => [...was]); // the effect focuses the row
  };
  const at = () => index.get(active.current) ?? -1;
  const within = () => table.current.contains(document.activeElement);
  useKeys({
    j: () => step(at() + 1),
    k: () => step(at() - 1),
  });
  const pressed = (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return;
    const to = { ArrowDown: at() + 1, ArrowUp: at() - 1, Home: 0, End: rows.length - 1 }[e.key];
    if (to === undefined || !within()) return;
    e.preventDefault();
    step(to);
  };
  threads.first = () => step(0);

  return html`${above > 0 && html`<button type="button" class="above" onClick=${() => scrollTo({ top: 0, behavior: "instant" })}>↑ ${plural(above, "row", "rows")} above</button>`}
<div role="table" class="threads" aria-label="Threads" aria-rowcount=${rows.length + 1} ref=${table} tabindex="-1" onKeyDown=${pressed} onFocusIn=${(e) => {
    const id = e.target.dataset?.thread;
    if (id !== undefined) active.current = threads.active = id;
  }}>
<div role="rowgroup" class="head"><div role="row" aria-rowindex="1">${columns.map(([name, kind]) => html`<span role="columnheader" class=${kind}>${name}</span>`)}</div></div>
<div role="rowgroup" class="all" ref=${body}><div class="part" role="presentation">
${rows.slice(from, to).map((row, i) => html`<${Row} key=${row.thread_id} row=${row} index=${from + i} go=${go} />`)}
</div></div>
</div>`;
};

// Empty says how threads get into a log.
const Empty = () => html`<div class="empty">
<h3>The log has no threads yet</h3>
<p>Threads get there in three ways, and appear here by themselves:</p>
<ul>
<li><code>p20export serve --upstream NAME=URL</code>: clients run agents through the server.</li>
<li><code>p20export proxy --store URL</code>: the proxy adds what passes through it.</li>
<li><code>p20export log import CAPTURE --store URL</code>: adds captures that exist.</li>
</ul>
</div>`;

// ThreadList shows the threads of the log. Its threads are those of newThreads.
export const ThreadList = ({ threads, find, go }) => {
  const [text, setText] = useState(find);
  const [rows, setRows] = useState(threads.rows);
  const [problem, setProblem] = useState(threads.problem);
  const [explained, setExplained] = useState(false);
  const field = useRef(null);
  threads.find = text;

  useEffect(() => {
    const stop = new AbortController();
    let said = performance.now();
    let before = threads.added;
    void threads.follow(() => {
      setRows(threads.rows);
      setProblem((was) => {
        if (was && !threads.problem) announce("The server answers again.");
        if (!was && threads.problem) announce("The server does not answer. The page tries again by itself.");
        return threads.problem;
      });
      if (threads.added > before && performance.now() - said > announceTime) {
        announce(plural(threads.added - before, "thread has", "threads have") + " changed.");
        before = threads.added;
        said = performance.now();
      }
    }, stop.signal);
    return () => stop.abort();
  }, []);
  useLayoutEffect(() => void (threads.scroll && scrollTo(0, threads.scroll)), []);
  // What is searched for is in the address, so that a link has it.
  useEffect(() => void setText(find), [find]);
  useEffect(() => {
    if (text === find) return undefined;
    const timer = setTimeout(() => go({ find: text }, { replace: true }), typingTime);
    return () => clearTimeout(timer);
  }, [text]);

  const search = useMemo(() => parse(text), [text]);
  const [shown, ends] = useMemo(() => {
    const found = text.trim() ? rows.filter((row) => matches(search, row)) : rows;
    const counts = new Map();
    for (const row of found) counts.set(endWord(row.end), (counts.get(endWord(row.end)) ?? 0) + 1);
    return [search.end ? found.filter((row) => matchesEnd(search, row)) : found, counts];
  }, [rows, text]);
  useEffect(() => {
    if (!text.trim()) return undefined;
    const timer = setTimeout(() => announce(plural(shown.length, "thread", "threads") + " found"), typingTime);
    return () => clearTimeout(timer);
  }, [text]);

  useKeys({ "/": () => field.current?.select() });
  const type = (next) => setText(next);
  const wordsOfEnds = [...ends.keys()].sort();
  if (search.end && !ends.has(search.end)) wordsOfEnds.push(search.end);
  const ofWord = (word) => rows.find((row) => endWord(row.end) === word)?.end ?? null;

  if (!rows.length && threads.complete() && !problem) return html`<${Empty} />`;
  return html`<search class="find">
<label for="find">Find threads</label> <input id="find" ref=${field} type="search" placeholder="id, agent, end or time" autocomplete="off" spellcheck="false" value=${text} onInput=${(e) => type(e.target.value)} onKeyDown=${(e) => {
    if (e.key === "ArrowDown") {
      e.preventDefault();
      threads.first();
    }
  }} />
<button type="button" aria-expanded=${explained} aria-controls="how" onClick=${() => setExplained(!explained)}>How to search</button>
<p class="keys">Keys: <kbd>/</kbd> find, <kbd>j</kbd> next, <kbd>k</kbd> previous</p>
</search>
<div id="how" class="how" hidden=${!explained}>
<p>A thread is found if its id, the id of its last run, its agent, its end and its time together have all words. Quotes keep words together.</p>
<dl class="facts">
<div><dt><code>end:failed</code></dt><dd>the last run ended so</dd></div>
<div><dt><code>agent:chat</code></dt><dd>the last run is from this agent</dd></div>
<div><dt><code>after:2026-11-01</code></dt><dd>the last run began on this day or later</dd></div>
<div><dt><code>before:2026-11-01T12:30</code></dt><dd>it began before this time</dd></div>
</dl>
<p>Times are in the time zone of this browser.</p>
</div>
${search.problem && html`<p class="note">${visible(search.problem)}</p>`}
<ul class="chips ends" aria-label="Ends of the last runs">
${wordsOfEnds.map((word) => html`<li key=${word}><button type="button" class="choice" aria-pressed=${search.end === word} onClick=${() => type(withEnd(text, search.end === word ? "" : word))}><${End} end=${ofWord(word)} /> ${count.format(ends.get(word) ?? 0)}</button></li>`)}
</ul>
<p class="count">${!threads.begun() ? "Loading" : (shown.length < rows.length ? count.format(shown.length) + " of " : "") + plural(rows.length, "thread", "threads") + (threads.complete() ? "" : ", more are loading")}</p>
${problem && html`<p class="note">${problem.status ? visible(problem.message) : "The server does not answer."} The page tries again by itself. What is below may be out of date.</p>`}
<${Table} rows=${shown} threads=${threads} go=${go} />`;
};
