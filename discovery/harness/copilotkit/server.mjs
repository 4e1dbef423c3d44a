// Serves app.mjs on 127.0.0.1, with the scripted models in a child process.
//
// When it accepts connections, it prints "listening on http://127.0.0.1:PORT". On SIGTERM, it
// stops the models and exits with status 0.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { port: { type: "string", default: "0" } } }); // 0 takes a free port

for (const signal of ["SIGTERM", "SIGINT"]) {
  process.on(signal, () => process.exit(0));
}

/** Starts the models; returns their base URL. They end with this process, and it with them. */
async function startModels() {
  const models = spawn("python3", ["-B", "scripted_model.py"], { stdio: ["ignore", "pipe", "inherit"] });
  process.on("exit", () => models.kill());
  models.on("error", (error) => {
    console.error(`the models do not start: ${error.message}`);
    process.exit(1);
  });
  models.on("exit", () => {
    console.error("the models ended");
    process.exit(1);
  });
  const [line] = await once(createInterface({ input: models.stdout }), "line");
  return line.replace("listening on ", "");
}

process.env.COPILOTKIT_TELEMETRY_DISABLED = "true"; // before the runtime is imported: it reports to a service
const { build } = await import("./app.mjs");

const server = createServer(build(await startModels()));
server.listen(Number(values.port), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
