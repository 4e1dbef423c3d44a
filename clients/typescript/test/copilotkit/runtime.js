// CopilotKit's runtime with ThreadRunner and the page: runtime.js SERVE ADDRESS.
// A line "hold" on standard input makes answers stop in the middle of a sentence, and
// "release" makes them go on.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

process.env.COPILOTKIT_TELEMETRY_DISABLED = "true"; // before the runtime is imported: it reports to a service
process.env.DO_NOT_TRACK = "1";
const { CopilotRuntime } = await import("@copilotkit/runtime/v2");
const { createCopilotNodeListener } = await import("@copilotkit/runtime/v2/node");
const { ThreadRunner } = await import("../../copilotkit.js");
const { Painter } = await import("./agent.js");

const [server, listen] = process.argv.slice(2);
const headers = process.env.P20EXPORT_TOKEN ? { Authorization: `Bearer ${process.env.P20EXPORT_TOKEN}` } : {};

let open = () => {};
let opened = Promise.resolve();
createInterface(process.stdin).on("line", (line) => {
  if (line === "hold") opened = new Promise((resolve) => (open = resolve));
  else open();
});

const painter = new Painter(async ({ delta }, aborted) => {
  if (delta === "letters ") await Promise.race([opened, once(aborted, "abort")]);
});
const copilotkit = createCopilotNodeListener({
  runtime: new CopilotRuntime({ agents: { painter }, runner: new ThreadRunner(server, { headers }) }),
  basePath: "/copilotkit",
});

const files = { "/": ["index.html", "text/html"], "/page.js": ["page.js", "text/javascript"], "/page.css": ["page.css", "text/css"] };

createServer(async (request, response) => {
  const file = files[new URL(request.url, "http://page").pathname];
  if (!file) return copilotkit(request, response);
  response.setHeader("Content-Type", file[1]);
  response.end(await readFile(new URL(`dist/${file[0]}`, import.meta.url)));
}).listen(Number(listen.split(":")[1]), "127.0.0.1", function () {
  console.log(JSON.stringify({ msg: "listening", address: `127.0.0.1:${this.address().port}` }));
});
