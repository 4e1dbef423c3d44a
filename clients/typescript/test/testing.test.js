import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { HttpAgent } from "@ag-ui/client";
import { record, replay, toMatchTrace } from "@p20export/client/testing";
import { chromium } from "./browser.js";
import { example } from "./readme.js";
import { captures, listen, scratch, serve } from "./servers.js";

const client = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);
const oneTurn = join(captures, "one-turn");
const refused = (url) => assert.rejects(fetch(url), (error) => error.cause.code === "ECONNREFUSED");

test("the start takes milliseconds", async (t) => {
  const times = [];
  for (let i = 0; i < 20; i++) {
    const begin = performance.now();
    const server = await replay(oneTurn);
    times.push(performance.now() - begin);
    await server.close();
    await refused(server.url);
  }
  times.sort((a, b) => a - b);
  t.diagnostic(`replay listens after ${times[10].toFixed(1)} ms (median of 20), ${times[19].toFixed(1)} ms at most`);
});

test("a capture that does not exist", async () => {
  await assert.rejects(replay("nowhere"), /^Error: p20export replay ended with status 3: .*nowhere/s);
});

for (const end of ["exit", "SIGTERM", "SIGKILL"]) {
  test(`servers end with the process: ${end}`, async () => {
    const script = `
      import { replay } from "@p20export/client/testing";
      console.log((await replay(${JSON.stringify(oneTurn)})).url);
      process.stdin.once("data", () => process.exit());
    `;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], { cwd: client, stdio: ["pipe", "pipe", "inherit"] });
    const [line] = await once(child.stdout, "data");
    const url = String(line).trim();
    await fetch(url);
    if (end === "exit") child.stdin.write("\n");
    else child.kill(end);
    await once(child, "exit");
    while (await fetch(url).then(() => true, (error) => error.cause.code !== "ECONNREFUSED"));
  });
}

test("recording and comparing", async (t) => {
  const agent = await replay(oneTurn);
  t.after(agent.close);
  const recording = await record(agent.url);
  for (const runId of ["a", "b"]) await new HttpAgent({ url: recording.url }).runAgent({ runId });
  const golden = join(scratch(t), "golden");

  const missing = await toMatchTrace(recording, golden);
  assert.equal(missing.pass, false);
  assert.match(missing.message(), /does not exist/);
  assert.match(missing.message(), /P20EXPORT_WRITE_GOLDEN="why they change"/);
  assert.deepEqual(readdirSync(recording.captures), ["run-1", "run-2"]);
  await refused(recording.url);

  t.after(() => delete process.env.P20EXPORT_WRITE_GOLDEN);
  process.env.CI = ""; // in CI, the program would write no goldens
  process.env.P20EXPORT_WRITE_GOLDEN = "the first";
  assert.ok((await toMatchTrace(recording, golden)).pass);
  delete process.env.P20EXPORT_WRITE_GOLDEN;
  const same = await toMatchTrace(recording.captures, golden);
  assert.ok(same.pass);
  assert.match(same.message(), /equal the goldens/);

  const other = await replay(join(captures, "unicode"));
  t.after(other.close);
  const changed = await record(other.url, { captures: scratch(t) });
  await new HttpAgent({ url: changed.url }).runAgent();
  const differs = await toMatchTrace(changed, golden);
  assert.equal(differs.pass, false);
  assert.match(differs.message(), /^changed +TEXT_MESSAGE_CONTENT/m);
});

/** Returns a project of a user, which has this package, a capture, and files. */
function project(t, files) {
  const directory = mkdtempSync(join(client, "test/project-"));
  t.after(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, "node_modules/@p20export"), { recursive: true });
  symlinkSync(client, join(directory, "node_modules/@p20export/client"));
  cpSync(oneTurn, join(directory, "captures/one-turn"), { recursive: true });
  writeFileSync(join(directory, "package.json"), '{"type": "module"}');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  // In CI, the program would write no goldens; here the test plays the developer.
  const bin = (name, args, environment) => run(join(client, "node_modules/.bin", name), args, { cwd: directory, env: { ...process.env, CI: "", NO_COLOR: "1", ...environment } });
  return { directory, bin };
}

test("the example of README.md for Node", async (t) => {
  const agent = await replay(oneTurn, { ids: "request" });
  t.after(agent.close);
  const server = await serve(t, { guide: agent.url });
  const { directory } = project(t, { "chat.js": example("js", "agent.connectAgent").replace("http://127.0.0.1:8080", server.url) });
  const { stdout } = await run(process.execPath, ["chat.js"], { cwd: directory });
  assert.equal(stdout, "The capital of France is Paris.\n");
});

test("the example of README.md for Vitest", async (t) => {
  const { directory, bin } = project(t, { "agent.test.js": example("js", 'from "vitest"') });
  const vitest = (environment) => bin("vitest", ["run", "--root", directory], environment);
  await assert.rejects(vitest(), ({ stderr }) => /P20EXPORT_WRITE_GOLDEN="why they change"/.test(stderr));
  await vitest({ P20EXPORT_WRITE_GOLDEN: "the first goldens" });
  const { stdout } = await vitest();
  assert.match(stdout, /2 passed/);
});

test("the example of README.md for Playwright", async (t) => {
  // A page that asks the agent and shows what it says.
  const page = `<!doctype html><p></p><script>
    fetch(new URLSearchParams(location.search).get("agent"), { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" })
      .then((response) => response.text())
      .then((text) => document.querySelector("p").append(...[...text.matchAll(/"delta":"([^"]*)"/g)].map(([, delta]) => delta)));
  </script>`;
  const pages = createServer((request, response) => response.writeHead(200, { "Content-Type": "text/html" }).end(page));
  const use = { baseURL: `http://127.0.0.1:${await listen(t, pages)}`, launchOptions: { executablePath: chromium(), args: ["--no-sandbox"] } };
  const { bin } = project(t, {
    "page.spec.js": example("js", "@playwright/test"),
    "playwright.config.js": `export default ${JSON.stringify({ use, reporter: "line", workers: 1 })};`,
  });
  const { stdout } = await bin("playwright", ["test"]);
  assert.match(stdout, /1 passed/);
});
