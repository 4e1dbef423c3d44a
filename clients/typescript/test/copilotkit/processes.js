import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** serve with a log in SQLite. It can be started again at the same address. */
export class Serve {
  address = "127.0.0.1:0";
  headers = {};
  #command;
  #process;

  /**
   * @param {string} program
   * @param {string} file The log.
   * @param {string[]} flags
   */
  constructor(program, file, ...flags) {
    this.#command = [program, "serve", "--store", `sqlite:${file}`, "--allow-append", ...flags];
  }

  async start() {
    const [program, ...args] = this.#command;
    this.#process = spawn(program, [...args, "--listen", this.address], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    for await (const line of createInterface(this.#process.stderr)) {
      said += `${line}\n`;
      if (!line.includes(`"msg":"listening"`)) continue;
      this.address = JSON.parse(line).address;
      this.#process.stderr.resume();
      return;
    }
    throw new Error(`serve does not start: ${said}`);
  }

  /** @param {NodeJS.Signals} signal */
  async end(signal) {
    const exited = once(this.#process, "exit");
    this.#process.kill(signal);
    await exited;
  }

  /** Starts serve, and ends it when it was used. */
  async during(use) {
    await this.start();
    try {
      return await use();
    } finally {
      await this.end("SIGKILL");
    }
  }

  get url() {
    return `http://${this.address}`;
  }

  /** Returns what the server has of a thread. */
  async get(threadId, what) {
    const response = await fetch(`${this.url}/threads/${encodeURIComponent(threadId)}/${what}`, { headers: this.headers });
    if (!response.ok) throw new Error(await response.text());
    return response.text();
  }
}

/** A process with a ThreadRunner. */
export class Runtime {
  #process;
  #runs = new Map();

  /** @param {string} server */
  constructor(server) {
    this.#process = spawn(process.execPath, [join(import.meta.dirname, "producer.js"), server], { stdio: ["pipe", "pipe", "inherit"] });
    createInterface(this.#process.stdout).on("line", (line) => {
      const message = JSON.parse(line);
      this.#runs.get(message.runId)(message);
    });
    this.#process.once("close", () => this.#runs.forEach((tell) => tell({ killed: true })));
  }

  /** Lets an agent answer. Returns the events that the runner emits, and how the run ended. */
  run(spec, onEvent) {
    const events = [];
    return new Promise((resolve) => {
      this.#runs.set(spec.runId, ({ event, ...end }) => {
        if (event === undefined) return resolve({ spec, events, ...end });
        events.push(event);
        onEvent(events.length);
      });
      this.#process.stdin.write(`${JSON.stringify(spec)}\n`);
    });
  }

  kill() {
    this.#process.kill("SIGKILL");
  }
}
