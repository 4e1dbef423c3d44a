// What the page of a thread knows: the moment that is shown, and what is new in the thread.
import { get, request, threadPath, withQuery } from "./api.js";
import { few, momentPath } from "./first.js";
import { Index } from "./thread_index.js";
import { parse } from "./thread_parts.js";

// Times in milliseconds.
const patience = 150; // after which a request that is no longer wanted is aborted
const pause = 100; // between the moments of a thread that goes on
const quiet = 1000; // after which entries are looked for that are not events, and runs
const silence = 45_000; // after which a connection counts as lost; the server sends something every 15 seconds
const hidden = 60_000; // after which a page that nobody sees gives up its connection
const firstWait = 500;
const longestWait = 10_000;

const most = 1000; // messages of an answer
const chunk = 10_000; // entries of an answer

// ids yields the values of the id lines of server-sent events. Other lines are not kept.
async function* ids(body, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let line = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heard();
    for (let from = 0; from < value.length; ) {
      const end = value.indexOf("\n", from);
      const to = end < 0 ? value.length : end;
      if (line.length < 200) line += value.slice(from, Math.min(to, from + 200));
      from = to + 1;
      if (end < 0) break;
      if (line === "id" || line === "id:") yield "";
      else if (line.startsWith("id:")) yield line.slice(3).trim();
      line = "";
    }
  }
}

export class Model {
  moment = null; // the answer that is shown
  target = 0; // the position that is wanted; 0 is the last one
  following = false; // the last position is wanted, also when the thread goes on
  last = 0;
  pushed = false; // the last move can be undone by going back
  live = "wait"; // "wait", "on", "lost" or "over"
  problem = null;
  index = new Index();
  runs = null;
  #closed = new AbortController();
  #changed;
  #path;
  #wanted = null;
  #asked = {};
  #asking = null;
  #timers = new Map();
  #connection = null;
  #indexing = false;
  #wake = () => {};

  // A Model calls changed when something changed.
  constructor(thread, changed) {
    this.thread = thread;
    this.#changed = changed;
    this.#path = (...rest) => threadPath(thread, ...rest);
  }

  // open begins with a position, or with the last one.
  open(at) {
    document.addEventListener("visibilitychange", this.#seen);
    if (at) this.jump(at);
    else this.follow();
  }

  close() {
    document.removeEventListener("visibilitychange", this.#seen);
    this.#closed.abort();
    this.#asking?.abort();
    this.#connection?.abort();
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  // #later calls something once after a time. A call that waits is not delayed.
  #later(name, time, call) {
    if (this.#timers.has(name) || this.#closed.signal.aborted) return;
    this.#timers.set(name, setTimeout(() => {
      this.#timers.delete(name);
      call();
    }, time));
  }
  #never(name) {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
  }

  // jump shows a position and stops following, unless it is the last one. If push is true, the
  // reader can go back from there.
  jump(at, push = false) {
    this.pushed = push;
    if (this.last && at >= this.last) return this.follow();
    this.target = Math.max(1, at);
    this.following = false;
    this.ask({ position: this.target });
    this.#changed();
  }

  // follow shows the last position, and each further one.
  follow() {
    this.target = 0;
    this.following = true;
    this.ask({});
    this.#changed();
  }

  // step moves by events, messages or runs, once the page knows the thread.
  step(unit, n) {
    if (this.last) this.jump(this.index.step(this.position, unit, n));
  }

  // position is the position that is wanted.
  get position() {
    return this.target || this.last;
  }

  // limit is the number of messages that are shown.
  limit = few;

  // earlier shows more of the messages before those that are shown, and later of those after.
  earlier() {
    const { from } = this.moment.messages;
    this.limit = Math.min(most, this.limit + few);
    this.ask({ position: this.moment.position, from: Math.max(0, from - few) });
  }
  later() {
    const { from, list } = this.moment.messages;
    const more = Math.min(most, this.limit + few);
    this.ask({ position: this.moment.position, from: list.length + few > most ? from + few : from });
    this.limit = more;
  }

  // all loads all messages of the moment.
  async all() {
    const moment = this.moment;
    const { position } = moment;
    const messages = { ...moment.messages, from: 0, list: [], cut: [] };
    while (messages.list.length < moment.messages.count) {
      const text = await (await request(momentPath(this.thread, { position, from: messages.list.length, limit: most }), { signal: this.#closed.signal })).text();
      const page = parse(text).messages;
      if (page.list.length === 0) break;
      messages.cut.push(...page.cut);
      messages.list.push(...page.list);
    }
    if (this.moment !== moment) return false;
    this.moment = { ...moment, messages };
    this.#changed();
    return true;
  }

  // ask asks for a moment. There is one request at a time. One that takes long is aborted if
  // another moment is wanted, except for a later last one.
  ask(question) {
    this.#wanted = question;
    if (!this.#asking) void this.#answer();
    else if (question.position || this.#asked.position) this.#later("abort", patience, () => this.#wanted && this.#asking?.abort());
  }

  async #answer() {
    while (this.#wanted && !this.#closed.signal.aborted) {
      const question = this.#wanted;
      this.#wanted = null;
      this.#asked = question;
      this.#asking = new AbortController();
      try {
        const path = momentPath(this.thread, { limit: this.limit, ...question });
        const text = await (await request(path, { signal: this.#asking.signal })).text();
        if (this.#closed.signal.aborted) return;
        this.#show(parse(text));
      } catch (error) {
        if (error.name !== "AbortError") this.fail(error);
      }
      this.#never("abort");
      this.#asking = null;
    }
  }

  #show(moment) {
    const first = !this.moment;
    this.moment = moment;
    this.problem = null;
    this.last = Math.max(this.last, moment.last);
    this.#catchUp();
    this.#changed();
    if (!first) return;
    void this.#listen(String(moment.last));
    void this.loadRuns();
    void this.#indexMore();
  }

  // #catchUp asks for the last moment if it is wanted and there is a later one.
  #catchUp() {
    if (this.following && this.moment && this.moment.position < this.last) this.#later("next", pause, () => this.following && this.ask({}));
  }

  // fail shows a problem. If the server is not there or busy, the moment is asked for again.
  fail(problem) {
    this.problem = problem;
    if (problem.status === 0 || problem.status === 503) this.#later("again", 2 * firstWait, () => this.#wanted ?? this.retry());
    this.#changed();
  }

  // retry asks for the wanted moment again, or for the last one if there is none there.
  retry() {
    if (this.problem?.status === 400) this.follow();
    else this.ask(this.target ? { position: this.target } : {});
  }

  // #news notes that the thread has a position.
  #news(position) {
    if (position <= this.last) return;
    this.last = position;
    this.#catchUp();
    this.#changed();
    this.#later("index", 5 * pause, () => this.#indexMore());
  }

  // #listen reads the events of the thread after a cursor, to learn that there are new ones. An
  // empty cursor is the end of the thread.
  async #listen(cursor) {
    let wait = firstWait;
    for (;;) {
      const connection = new AbortController();
      this.#connection = connection;
      let watch;
      const alive = () => {
        clearTimeout(watch);
        watch = setTimeout(() => connection.abort(), silence);
      };
      try {
        // A browser can drop the last that a broken response had: that the log was rewound.
        const { last } = await get(withQuery(this.#path("entries"), { limit: 1 }), { signal: connection.signal });
        if (cursor && last < this.last) {
          this.#again();
          cursor = "";
        }
        if (!cursor) cursor = String(last);
        this.#news(last);
        const response = await request(this.#path("events"), { headers: { "Last-Event-ID": cursor }, signal: connection.signal });
        this.live = "on";
        if (this.problem?.status === 0) this.retry();
        this.#changed();
        alive();
        for await (const id of ids(response.body, alive)) {
          if (id === "") {
            this.#again();
            cursor = "";
            continue;
          }
          cursor = id;
          wait = firstWait;
          this.#news(parseInt(id, 10));
        }
      } catch (error) {
        if (this.#closed.signal.aborted) return;
        if (error.code === "invalid_cursor") {
          this.#again();
          cursor = "";
        } else if (error.status >= 400 && error.status < 500 && error.status !== 408) {
          this.problem = error;
          this.live = "over";
          this.#changed();
          return;
        }
      } finally {
        clearTimeout(watch);
      }
      if (this.#closed.signal.aborted) return;
      this.live = "lost";
      this.#changed();
      await new Promise((done) => {
        this.#wake = done;
        if (document.visibilityState === "visible" || !connection.signal.aborted) setTimeout(done, wait);
      });
      wait = Math.min(longestWait, 2 * wait);
    }
  }

  // #seen gives up the connection of a page that is hidden for long, because browsers have few
  // of them for a server. A page that is seen again connects at once.
  #seen = () => {
    if (document.visibilityState === "hidden") {
      this.#later("hide", hidden, () => this.#connection?.abort());
      return;
    }
    this.#never("hide");
    this.#wake();
  };

  // #again forgets everything, because the log has lost entries.
  #again() {
    this.index = new Index();
    this.runs = null;
    this.last = 0;
    this.follow();
    void this.loadRuns();
    void this.#indexMore(true);
  }

  // #indexMore reads the index as far as the thread is known to go, and once more a while later:
  // requests and ends of streams are no events. With look, it reads on without knowing more.
  async #indexMore(look = false) {
    const index = this.index;
    if (this.#indexing || index.full) return;
    this.#indexing = true;
    let found = 0;
    try {
      while (look || index.last < this.last) {
        const columns = await get(withQuery(this.#path("entries"), { after: index.last, limit: chunk }), { signal: this.#closed.signal });
        if (index !== this.index || columns.type.length === 0) break;
        look = false;
        found += columns.type.length;
        if (index.add(columns)) this.#later("runs", quiet, () => this.loadRuns());
        if (index.full) break;
        this.#news(columns.last);
        this.#changed();
      }
    } catch {
      this.#later("index", longestWait, () => this.#indexMore());
    }
    this.#indexing = false;
    if (this.#closed.signal.aborted) return;
    if (index !== this.index) void this.#indexMore(true);
    else if (found) this.#later("quiet", quiet, () => this.#indexMore(true));
  }

  // loadRuns reads the runs and their branches.
  async loadRuns() {
    try {
      this.runs = await get(this.#path("runs"), { signal: this.#closed.signal });
      this.#changed();
    } catch (error) {
      if (error.name !== "AbortError") this.#later("runs", longestWait, () => this.loadRuns());
    }
  }
}
