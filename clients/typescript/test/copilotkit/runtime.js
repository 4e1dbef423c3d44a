// CopilotKit's runtime with ThreadRunner, and the page: runtime.js SERVE ADDRESS.
// A line "hold" on standard input makes answers stop in the middle of a sentence, and
// "release" makes them go on.
import "./quiet.js";

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

import { CopilotRuntime } from "@copilotkit/runtime/v2";
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node";

import { ThreadRunner } from "../../src/copilotkit.js";
import { Painter } from "./agent.js";

const [server, address] = process.argv.slice(2);

let opened = Promise.resolve();
let open = () => {};
createInterface(process.stdin).on("line", (line) => {
  if (line === "hold") opened = new Promise((resolve) => (open = resolve));
  else open();
});

const painter = new Painter(async ({ delta }, aborted) => {
  if (delta === "letters ") await Promise.race([opened, once(aborted, "abort")]);
});
const copilotkit = createCopilotNodeListener({
  runtime: new CopilotRuntime({ agents: { painter }, runner: new ThreadRunner(server) }),
  basePath: "/copilotkit",
});

const files = { "/": ["index.html", "text/html"], "/page.js": ["page.js", "text/javascript"], "/page.css": ["page.css", "text/css"] };
const pages = createServer(async (request, response) => {
  const [file, type] = files[new URL(request.url, "http://page").pathname] ?? [];
  if (!file) return copilotkit(request, response);
  response.setHeader("Content-Type", type);
  response.end(await readFile(new URL(`dist/${file}`, import.meta.url)));
});
const [host, port] = address.split(":");
pages.listen(Number(port), host, () => console.log(JSON.stringify({ msg: "listening", address: `${host}:${pages.address().port}` })));
