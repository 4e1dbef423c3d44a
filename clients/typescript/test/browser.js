// A real Chromium, driven by its DevTools protocol over a pipe.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { root, scratch } from "./servers.js";

export function chromium() {
  return execFileSync(join(root, "discovery/report/chromium.sh"), { encoding: "utf8" }).trim();
}

/** Starts a browser. open opens a page in a tab of its own. */
export async function browser(t) {
  const child = spawn(chromium(), ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", `--user-data-dir=${scratch(t)}`], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const [, , , input, output] = child.stdio;
  const waiting = new Map();
  let received = "";
  output.setEncoding("utf8").on("data", (text) => {
    const messages = (received + text).split("\0");
    received = messages.pop();
    for (const { id, result, error, method, sessionId } of messages.map((message) => JSON.parse(message))) {
      const key = id ?? `${sessionId} ${method}`; // an answer or an event
      const { resolve, reject } = waiting.get(key) ?? {};
      waiting.delete(key);
      if (error) reject?.(new Error(error.message));
      else resolve?.(result);
    }
  });
  let last = 0;
  const command = (method, params = {}, sessionId) =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      input.write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
    });

  t.after(async () => {
    const exited = once(child, "exit");
    await command("Browser.close");
    await exited;
  });

  return {
    async open(url) {
      const { targetId } = await command("Target.createTarget", { url: "about:blank" });
      const { sessionId } = await command("Target.attachToTarget", { targetId, flatten: true });
      await command("Page.enable", {}, sessionId);
      const evaluate = async (expression) => {
        const { result, exceptionDetails } = await command("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true }, sessionId);
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
      };
      /** Waits until an expression about the page is true. */
      const until = (condition) => evaluate(`new Promise((done) => { const look = () => { try { if (${condition}) return done(); } catch {} setTimeout(look, 20); }; look(); })`);
      const load = async (...navigation) => {
        const loaded = new Promise((resolve) => waiting.set(`${sessionId} Page.loadEventFired`, { resolve }));
        await command(...navigation, sessionId);
        await loaded;
      };
      await load("Page.navigate", { url });
      return { evaluate, until, reload: () => load("Page.reload", {}) };
    },
  };
}
