// LangGraph's server, as its command line starts it for development, with the graphs of graphs.mjs.
// It tells its parent process where it listens and which graphs it has, and ends with it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { startServer } from "@langchain/langgraph-api/server";

for (const end of ["SIGTERM", "SIGINT", "disconnect"]) {
  process.on(end, () => process.exit(0));
}

// The server keeps threads in memory, and writes them where it runs.
const cwd = mkdtempSync(join(tmpdir(), "langgraph-ts-"));
process.on("exit", () => rmSync(cwd, { recursive: true, force: true }));

const file = new URL("graphs.mjs", import.meta.url);
const names = Object.keys(await import(file));
const graphs = Object.fromEntries(names.map((name) => [name.replaceAll("_", "-"), `${fileURLToPath(file)}:${name}`]));

const { host } = await startServer({ port: 0, host: "127.0.0.1", nWorkers: 10, cwd, graphs });
process.send({ url: `http://${host}`, graphs: Object.keys(graphs) });
