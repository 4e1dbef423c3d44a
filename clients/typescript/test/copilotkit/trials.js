// Trials of ThreadRunner: trials.js PROGRAM [TRIALS] [SEED].
//
// In each trial, agents run in a thread, behind a proxy that loses, repeats and delays requests.
// Their runtime and serve are killed at random moments, other runtimes join, and rivals try to
// run agents in the same thread. Afterwards the log must have each event once and in order.
import "./quiet.js";

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ThreadRunner } from "../../src/copilotkit.js";
import { Painter, request } from "./agent.js";
import { lost, oddities, silence } from "./cases.js";
import { checkReader, checkRun, collect, readLog } from "./checks.js";
import { Runtime, Serve } from "./processes.js";
import { Proxy } from "./proxy.js";
import { generator } from "./random.js";

const [program, trials = "100", seed = String(Math.floor(Math.random() * 2 ** 31))] = process.argv.slice(2);
const counts = { runs: 0, batches: 0, readers: 0, refused: 0, killedRuntimes: 0, killedServes: 0 };

/** Returns one of the values. */
const pick = (random, ...values) => values[Math.floor(random() * values.length)];

/** serve, a proxy before it, and a runtime, which is another one after a kill. */
class Lane {
  constructor(file) {
    this.serve = new Serve(program, file);
  }

  /** Makes trials, one after the other. */
  async run(numbers) {
    await this.serve.during(async () => {
      this.proxy = new Proxy(this.serve.url, generator(Number(seed)));
      this.url = await this.proxy.start();
      this.runtime = new Runtime(this.url);
      try {
        for (const number of numbers) {
          await this.trial(number).catch((cause) => {
            throw new Error(`trial ${number} of the seed ${seed} failed`, { cause });
          });
        }
      } finally {
        this.runtime.kill();
        this.proxy.stop();
      }
    });
    for (const [fault, number] of Object.entries(this.proxy.faults)) counts[fault] = (counts[fault] ?? 0) + number;
  }

  async trial(number) {
    const random = generator(Number(seed) + number);
    const threadId = `trial ${number}/ü`;
    const elsewhere = new ThreadRunner(this.url);
    const [results, readers] = [[], []];
    for (let i = 0, n = 1 + Math.floor(random() * 3); i < n; i++) {
      const spec = { threadId, runId: `run-${i}`, content: "word ".repeat(random() * 40).trim(), seed: Math.floor(random() * 2 ** 31) };
      const joins = Array.from({ length: 4 }, () => 1 + Math.floor(random() * 25));
      const rival = 1 + Math.floor(random() * 40);
      this.plan(random);
      let attempt; // of the rival
      const result = await this.runtime.run(spec, (events) => {
        if (joins.includes(events)) readers.push(collect(elsewhere.connect({ threadId })));
        if (events === rival) attempt = this.rival(elsewhere, { threadId, runId: `rival-${i}`, content: "Me too!" });
      });
      results.push(result);
      if (result.killed) this.runtime = new Runtime(this.url);
      const made = await attempt;
      if (made) results.push(made);
      await this.proxy.settled(); // also what a runtime sent before it was killed
      if (await elsewhere.isRunning({ threadId })) {
        assert(result.killed, "a run is open whose runtime was not killed");
        assert(await elsewhere.stop({ threadId }));
      }
    }
    const logged = await readLog(this.serve, threadId);
    for (const result of results) checkRun(logged.get(result.spec.runId), result);
    assert(results.length >= logged.size, "the log has a run that nobody made");
    for (const reader of readers) await checkReader(this.serve, threadId, logged, await reader);
    counts.runs += results.length;
    counts.readers += readers.length;
  }

  /** Plans who is killed at which batch of the next run. */
  plan(random) {
    const victims = pick(random, [], ["runtime"], ["serve"], ["runtime", "serve"]);
    let batches = 1 + Math.floor(random() * 8);
    const planned = pick(random, "before", "during", "after");
    this.proxy.watch = async (moment) => {
      if (moment === "before") {
        batches--;
        counts.batches++;
      }
      if (batches !== 0 || moment !== planned) return;
      for (const victim of victims.splice(0)) {
        if (victim === "runtime") {
          counts.killedRuntimes++;
          this.runtime.kill();
        } else {
          counts.killedServes++;
          await this.serve.end("SIGKILL");
          await this.serve.start();
        }
      }
    };
  }

  /** Tries to run an agent in a thread that has an active run. Returns the run if there is one. */
  async rival(runner, spec) {
    let started = false;
    const result = await collect(runner.run(request(new Painter(async () => (started = true)), spec)), spec);
    if (!result.error) return result; // the other run had ended
    assert.deepEqual([result.events, started], [[{ type: "RUN_ERROR", message: "Thread already running" }], false]);
    counts.refused++;
  }
}

/** The numbers of the trials, which the lanes share. When one fails, all end. */
function* range(n) {
  for (let i = 0; i < n; i++) yield i;
}

const directory = mkdtempSync(join(tmpdir(), "p20export-trials-"));
const numbers = range(Number(trials));
const lanes = ["a.db", "b.db", "c.db"].map((file) => new Lane(join(directory, file)).run(numbers));
const ended = await Promise.allSettled([silence(program, directory), lost(program, directory), oddities(program, directory), ...lanes]);
rmSync(directory, { recursive: true });
for (const { reason } of ended) if (reason) throw reason;
console.log(`${trials} trials with the seed ${seed} passed:`, counts);
