// The index of a thread: what each entry is, without its data.

// family returns the family of an event type, as the pictures have them. The type of what is
// not an event is "".
export const family = (type) => {
  for (const [prefix, name] of [
    ["RUN_", "run"], ["STEP_", "run"], ["SUBAGENT_", "run"], ["TEXT_", "text"], ["TOOL_", "tool"], ["STATE_", "state"],
    ["MESSAGES_", "snapshot"], ["REASONING_", "reasoning"], ["THINKING_", "reasoning"], ["ACTIVITY_", "activity"],
  ]) {
    if (type.startsWith(prefix)) return name;
  }
  return type ? "other" : "bad";
};

// origins says who made an entry of a kind.
const origins = new Map([["event", "agent"], ["input", "request"], ["closing", "server"], ["end", "server"]]);
export const origin = (kind) => origins.get(kind) ?? kind;

// messageEnds matches the types after which a message or a part of one is complete.
const messageEnds = /^(TEXT_MESSAGE_END|TOOL_CALL_(END|RESULT)|REASONING_(MESSAGE_)?END|THINKING_(TEXT_MESSAGE_)?END|ACTIVITY_SNAPSHOT|MESSAGES_SNAPSHOT)$/;
const chunks = /_CHUNK$/;

// maxEntries limits the index. An entry needs 29 bytes.
const maxEntries = 2_000_000;

// numbers makes a list of numbers that grows.
const numbers = (Kind) => {
  let all = new Kind(1024);
  return {
    at: (i) => all[i],
    set: (i, n) => {
      if (i >= all.length) {
        const more = new Kind(2 * all.length);
        more.set(all);
        all = more;
      }
      all[i] = n;
    },
  };
};

export class Index {
  last = 0; // the position up to which it is complete
  full = false; // it has as many entries as it may have
  total = 0; // bytes of the entries
  messages = []; // positions after which a message is complete
  runs = []; // positions of RUN_STARTED
  #ends = new Map(); // position of RUN_STARTED -> position of the last entry of the run
  #inputs = new Map(); // number of the stream -> position of its last request
  #requests = new Map(); // position of RUN_STARTED -> position of its request
  #names = [];
  #known = new Map();
  #type = numbers(Int32Array);
  #kind = numbers(Int32Array);
  #stream = numbers(Int32Array);
  #run = numbers(Uint32Array);
  #bytes = numbers(Uint32Array);
  #arrived = numbers(Float64Array);

  // #name returns the number of a name.
  #name(text) {
    let n = this.#known.get(text);
    if (n === undefined) {
      n = this.#names.push(text) - 1;
      this.#known.set(text, n);
    }
    return n;
  }

  // add adds the answer of the server that follows last. It reports whether a run began or
  // ended in it.
  add(columns) {
    let news = false;
    for (let i = Math.max(0, this.last + 1 - columns.first); i < columns.type.length; i++) {
      if (this.last === maxEntries) {
        this.full = true;
        break;
      }
      const at = ++this.last;
      const type = columns.type[i] < 0 ? "" : columns.types[columns.type[i]];
      const kind = columns.kinds[columns.kind[i]];
      const stream = this.#name(columns.streams[columns.stream[i]]);
      const run = columns.run[i];
      this.#type.set(at, this.#name(type));
      this.#kind.set(at, this.#name(kind));
      this.#stream.set(at, stream);
      this.#run.set(at, run);
      this.#bytes.set(at, columns.bytes[i]);
      this.total += columns.bytes[i];
      this.#arrived.set(at, columns.arrived[i] ?? NaN);
      if (kind === "input") this.#inputs.set(stream, at);
      if (run === at) {
        this.runs.push(at);
        if (this.#inputs.has(stream)) this.#requests.set(at, this.#inputs.get(stream));
        news = true;
      }
      if (run > 0) this.#ends.set(run, at);
      if (type === "RUN_FINISHED" || type === "RUN_ERROR" || kind === "end") news = true;
      if (at > 1 && chunks.test(this.type(at - 1)) && type !== this.type(at - 1)) this.messages.push(at - 1);
      if (kind === "input" || messageEnds.test(type)) this.messages.push(at);
    }
    return news;
  }

  has(at) {
    return at >= 1 && at <= this.last;
  }
  type(at) {
    return this.#names[this.#type.at(at)];
  }
  kind(at) {
    return this.#names[this.#kind.at(at)];
  }
  // run returns the position of RUN_STARTED of the run of an entry, or 0.
  run(at) {
    return this.#run.at(at);
  }
  bytes(at) {
    return this.#bytes.at(at);
  }
  // arrived returns the time of arrival in microseconds, or NaN if it is not known.
  arrived(at) {
    return this.#arrived.at(at);
  }
  // end returns the position of the last entry of a run, or undefined.
  end(run) {
    return this.#ends.get(run);
  }
  // request returns the position of the request of a run, or undefined.
  request(run) {
    return this.#requests.get(run);
  }
  // of returns the positions of the entries for which a condition holds.
  of(condition) {
    const all = [];
    for (let at = 1; at <= this.last; at++) if (condition(at)) all.push(at);
    return all;
  }

  // step returns the position n events, messages or runs from another one, which can be
  // before the first or after the last one.
  step(at, unit, n) {
    if (unit === "event") return at + n;
    const stops = unit === "message" ? this.messages : this.runs.map((run) => this.#ends.get(run)).sort((a, b) => a - b);
    if (n > 0) return stops.find((stop) => stop > at) ?? Infinity;
    return stops.findLast((stop) => stop < at) ?? 1;
  }
}
