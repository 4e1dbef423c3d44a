/// <reference types="node" preserve="true" />
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

/**
 * Returns the path of the program: P20EXPORT_BINARY, or that of the package for this system.
 * @returns {string}
 */
export function binary() {
  if (process.env.P20EXPORT_BINARY) return process.env.P20EXPORT_BINARY;
  const platform = `@p20export/${process.platform}-${process.arch}`;
  try {
    return createRequire(import.meta.url).resolve(`${platform}/bin/p20export${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    throw new Error(`the package ${platform} is not installed: install optional dependencies, or set P20EXPORT_BINARY to the path of p20export`);
  }
}

/**
 * A server at an address, without a slash at its end. close stops it and waits until it has
 * ended, and so does `await using`. It also ends when this process exits.
 * @typedef {{url: string, close: () => Promise<void>, [Symbol.asyncDispose]: () => Promise<void>}} Server
 */

/** @type {Set<import("node:child_process").ChildProcess>} */
const running = new Set();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/**
 * Kills a process when this one is killed, which no handler notices. A shell waits for the end
 * of its input; Windows has none.
 * @param {import("node:child_process").ChildProcess} child
 */
function guard(child) {
  if (process.platform === "win32" || child.pid === undefined) return;
  const shell = spawn("sh", ["-c", 'read line; kill -9 "$0"', String(child.pid)], { stdio: ["pipe", "ignore", "ignore"] });
  shell.on("error", () => {}); // then the handler of exit is all there is
  shell.unref();
  child.on("exit", () => shell.kill("SIGKILL"));
}

/**
 * Starts a server of the program on a free port of 127.0.0.1, and waits until it listens.
 * @param {string[]} args
 * @param {NodeJS.Signals} stop The signal that ends it.
 * @returns {Promise<Server>}
 */
export async function start(args, stop) {
  const child = spawn(binary(), [...args, "--listen", "127.0.0.1:0", "--log-format", "json"], { stdio: ["ignore", "ignore", "pipe"], windowsHide: true });
  running.add(child);
  guard(child);
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => {
    child.on("error", () => resolve());
    child.on("close", () => resolve());
  });
  ended.then(() => running.delete(child));
  const close = async () => {
    child.kill(stop);
    await ended;
  };
  const address = await new Promise((resolve, reject) => {
    let output = "";
    child.on("error", reject);
    child.on("close", (status) => reject(new Error(`p20export ${args[0]} ended with status ${status}: ${output.trim()}`)));
    // The lines after the first are read, so that the program never waits for its log.
    createInterface({ input: child.stderr }).on("line", (line) => {
      const { msg, address } = entry(line);
      if (msg === "listening") resolve(address);
      else output += `${line}\n`;
    });
  });
  return { url: `http://${address}`, close, [Symbol.asyncDispose]: close };
}

/**
 * Returns what a line of the log says. Reasons why the program does not start are plain text.
 * @param {string} line
 * @returns {{msg?: string, address?: string}}
 */
function entry(line) {
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}
