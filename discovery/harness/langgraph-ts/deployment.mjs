// Starts LangGraph's development server with the graphs of graphs.mjs. It sends its URL and the names
// of the graphs to its parent process, and exits with the parent.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { startServer } from "@langchain/langgraph-api/server";

for (const end of ["SIGTERM", "SIGINT", "disconnect"]) {
  process.on(end, () => process.exit(0));
}

// The server keeps threads in memory and writes them to its working directory.
const cwd = mkdtempSync(join(tmpdir(), "langgraph-ts-"));
process.on("exit", () => rmSync(cwd, { recursive: true, force: true }));

const file = new URL("graphs.mjs", import.meta.url);
const names = Object.keys(await import(file));
const graphs = Object.fromEntries(names.map((name) => [name.replaceAll("_", "-"), `${fileURLToPath(file)}:${name}`]));

const { host } = await startServer({ port: 0, host: "127.0.0.1", nWorkers: 10, cwd, graphs });
process.send({ url: `http://${host}`, graphs: Object.keys(graphs) });
