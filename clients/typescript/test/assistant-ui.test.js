// A page of assistant-ui in a real browser: it is reloaded in the middle of a sentence, the
// server is restarted, and other pages open. All show the same.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { replay } from "@p20export/client/testing";
import { browser } from "./browser.js";
import { example } from "./readme.js";
import { captures, faultyProxy, listen, reverseProxy, scratch, serve, undisturbed } from "./servers.js";

/** Lets the page import the example of README.md, with the settings in the address of the page. */
const readme = {
  name: "README.md",
  setup(build) {
    const parameter = (name) => `new URLSearchParams(location.search).get("${name}")`;
    const contents = example("jsx", "threadHistory").replace('"http://127.0.0.1:8080/agents/guide"', parameter("url")).replace('"thread-1"', parameter("thread"));
    build.onResolve({ filter: /^README\.md$/ }, () => ({ path: "README.jsx", namespace: "readme" }));
    build.onLoad({ filter: /./, namespace: "readme" }, () => ({ contents, loader: "jsx", resolveDir: fileURLToPath(new URL(".", import.meta.url)) }));
  },
};

/** Starts serve with an agent that stops in the middle of its answer, a page and a browser. */
async function setup(t) {
  const outfile = join(scratch(t), "page.js");
  await build({ entryPoints: [new URL("assistant-ui-page.jsx", import.meta.url).pathname], bundle: true, format: "esm", jsx: "automatic", plugins: [readme], define: { "process.env.NODE_ENV": '"production"' }, outfile });
  const script = await readFile(outfile);
  const pages = createServer((request, response) => {
    if (request.url === "/page.js") response.writeHead(200, { "Content-Type": "text/javascript" }).end(script);
    else response.writeHead(200, { "Content-Type": "text/html" }).end('<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>');
  });
  const origin = `http://127.0.0.1:${await listen(t, pages)}`;

  const recorded = await replay(join(captures, "long-stream"), { ids: "request" });
  t.after(recorded.close);
  let release;
  const until = new Promise((resolve) => (release = resolve));
  const agent = await reverseProxy(t, () => recorded.url, [{ after: 20_000, until }]);
  const server = await serve(t, { agent }, `--allow-origin=${origin}`);
  const address = await faultyProxy(t, () => server.url, () => undefined); // it stays when serve is restarted
  const chrome = await browser(t);
  const open = () => chrome.open(`${origin}/?${new URLSearchParams({ url: `${address}/agents/agent`, thread: "t/1 ü" })}`);
  return { server, release, open };
}

/** The history has asked for the runs of the thread and got an answer. */
const loaded = `performance.getEntriesByType("resource").some(({ name }) => name.endsWith("/runs")) && !thread.getState().isLoading`;
const state = "thread.getState()";
const running = `${state}.isRunning`;
const answering = `${running} && ${state}.messages.length === 2 && document.querySelector("main").innerText.length > 200`;
const ended = `!${running} && !${state}.isLoading && ${state}.messages.length === 2`;
const send = `thread.append("Count from 0 to 2999.")`;

/** What a page shows, and what its runtime has: the role, the text and the status of messages. */
const shown = (page) => page.evaluate(`({ text: document.querySelector("main").innerText, messages: ${state}.messages.map(({ role, content, status }) => ({ role, content, status })) })`);

/** Starts an answer, and reloads another page of the thread in the middle of it. */
async function halfway(t) {
  const { open, ...rest } = await setup(t);
  const stays = await open();
  await stays.until(loaded);
  await stays.evaluate(`void ${send}`);
  await stays.until(answering);
  const reloaded = await open();
  await reloaded.until(answering);
  await reloaded.reload();
  await reloaded.until(answering);
  return { open, stays, reloaded, ...rest };
}

test("a page that is reloaded in the middle of a sentence", async (t) => {
  const { server, release, open, stays, reloaded } = await halfway(t);
  const middle = await shown(reloaded);
  assert.deepEqual(middle, await shown(stays));
  release();
  await Promise.all([stays.until(ended), reloaded.until(ended)]);
  const all = await shown(stays);
  assert.ok(all.text.length > middle.text.length && all.text.startsWith(middle.text));
  assert.deepEqual(await shown(reloaded), all);
  const later = await open();
  await later.until(ended);
  assert.deepEqual(await shown(later), all);
  const deltas = (await undisturbed(server.url, "t/1 ü")).map(({ delta = "" }) => delta);
  assert.equal(all.messages[1].content[0].text, deltas.join(""));

  // The conversation goes on. The agent's snapshot has its own id for the answer.
  const id = `${state}.messages.at(-1).id`;
  const own = JSON.stringify(await stays.evaluate(id));
  assert.notEqual(JSON.stringify(await reloaded.evaluate(id)), own);
  await reloaded.evaluate(`void ${send}`);
  await reloaded.until(`!${running} && ${id} === ${own}`);
});

test("a server that is restarted in the middle of a sentence", async (t) => {
  const { server, open, stays, reloaded } = await halfway(t);
  await server.restart(); // it ends the run, and says so
  await Promise.all([stays.until(ended), reloaded.until(ended)]);
  const all = await shown(stays);
  assert.equal(all.messages[1].status.reason, "error");
  assert.deepEqual(await shown(reloaded), all);
  const later = await open();
  await later.until(ended);
  assert.equal((await shown(later)).text, all.text);
});
