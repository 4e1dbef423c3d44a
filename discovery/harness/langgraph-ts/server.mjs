// Serves app.mjs on 127.0.0.1, with LangGraph's server and the scripted models in child processes.
//
// When it accepts connections, it prints "listening on http://127.0.0.1:PORT". On SIGTERM, it
// stops the child processes and exits with status 0.

import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

import { build } from "./app.mjs";

const { values } = parseArgs({ options: { port: { type: "string", default: "0" } } }); // 0 takes a free port

for (const signal of ["SIGTERM", "SIGINT"]) {
  process.on(signal, () => process.exit(0));
}

/** Makes a child process and this one end with each other. */
function bind(child, what) {
  process.on("exit", () => child.kill());
  child.on("error", (error) => {
    console.error(`${what} does not start: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", () => {
    console.error(`${what} ended`);
    process.exit(1);
  });
  return child;
}

/** Starts the models; returns their base URL. */
async function startModels() {
  const stdio = ["ignore", "pipe", "inherit"];
  const models = bind(spawn("python3", ["-B", "scripted_model.py"], { stdio }), "the model endpoint");
  const [line] = await once(createInterface({ input: models.stdout }), "line");
  return line.replace("listening on ", "");
}

// These variables make LangChain report to a service.
const TRACING = ["LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"];

/** Starts LangGraph's server; returns where it listens and which graphs it has. */
async function startDeployment(modelsURL) {
  const env = { ...process.env, MODELS_URL: modelsURL, LOG_LEVEL: "warn" };
  for (const name of TRACING) env[name] = "false";
  const stdio = ["ignore", 2, 2, "ipc"]; // it logs to its standard output
  const execArgv = ["--import", "tsx"]; // as LangGraph's command line starts it; without, it does not find its own version
  const child = bind(fork("deployment.mjs", { env, execArgv, stdio }), "LangGraph's server");
  const [deployment] = await once(child, "message");
  return deployment;
}

const server = createServer(build(await startDeployment(await startModels())));
server.listen(Number(values.port), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
