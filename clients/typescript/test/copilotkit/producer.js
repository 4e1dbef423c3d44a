// Runs agents with ThreadRunner: producer.js SERVE. A line of standard input is a run, with its
// threadId, runId, content and seed. Standard output has a line for each event that the runner
// emits, and one for the end of the run.
import "./quiet.js";

import { createInterface } from "node:readline";

import { ThreadRunner } from "../../src/copilotkit.js";
import { Painter, request } from "./agent.js";
import { generator } from "./random.js";

const runner = new ThreadRunner(process.argv[2]);

createInterface(process.stdin).on("line", (line) => {
  const run = JSON.parse(line);
  const random = generator(run.seed);
  let [sent, emitted, wake] = [0, 0, () => {}];
  // Sometimes the agent waits until all its events have been emitted, so that batches differ.
  const gate = async (_, aborted) => {
    sent++;
    if (random() < 0.6) return;
    aborted.onabort = () => wake();
    while (emitted < sent && !aborted.aborted) await new Promise((resolve) => (wake = resolve));
  };
  const say = (message) => console.log(JSON.stringify({ runId: run.runId, ...message }));
  runner.run(request(new Painter(gate), run)).subscribe({
    next: (event) => {
      emitted++;
      say({ event });
      wake();
    },
    error: (error) => say({ error: error.message }),
    complete: () => say({ done: true }),
  });
});
