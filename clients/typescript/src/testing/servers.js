import { rmSync } from "node:fs";
import { mkdtemp, readdir, rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "./program.js";

/** @import {Server} from "./program.js" */

/**
 * How recorded runs are sent.
 * @typedef {object} ReplayOptions
 * @property {number} [speed] Divides the recorded pauses; 1 keeps them. The default, 0, removes them.
 * @property {"order" | "input"} [match] Which capture answers: the next one, or the one with the same last user message.
 * @property {"request"} [ids] Replaces the recorded ids of thread and run by those of the request.
 * @property {string} [allowOrigin] The origin whose pages can read the responses, such as http://localhost:5173, or *.
 */

/**
 * Starts an agent that answers with recorded runs: `p20export replay`. No model is asked.
 * @param {string} captures A capture, or a directory of captures.
 * @param {ReplayOptions} [options]
 * @returns {Promise<Server>}
 */
export function replay(captures, { speed = 0, match, ids, allowOrigin } = {}) {
  const flags = { speed, match, ids, "allow-origin": allowOrigin };
  const given = Object.entries(flags).filter(([, value]) => value !== undefined);
  return start(["replay", captures, ...given.map(([name, value]) => `--${name}=${value}`)], "SIGKILL");
}

/**
 * A server that records, and the directory of its captures. When it is closed, they are named
 * run-1, run-2 and so on, in the order of the requests.
 * @typedef {Server & {captures: string}} Recording
 */

/**
 * Starts a server that passes requests on to an agent and records each run: `p20export proxy`.
 * @param {string} agent The address of the agent.
 * @param {{captures?: string}} [options] A new directory for the captures. Without one, they are deleted when the process exits.
 * @returns {Promise<Recording>}
 */
export async function record(agent, { captures } = {}) {
  const directory = captures ?? (await temporary());
  const server = await start(["proxy", "--upstream", agent, "--captures", directory], "SIGTERM");
  /** @type {Promise<void> | undefined} */
  let closed;
  const close = () => (closed ??= server.close().then(() => number(directory)));
  return { ...server, captures: directory, close, [Symbol.asyncDispose]: close };
}

/** @param {string} directory */
async function number(directory) {
  const recorded = (await readdir(directory)).filter((name) => /^\d{8}T/.test(name)).sort(); // their names begin with their time
  for (const [index, name] of recorded.entries()) await rename(join(directory, name), join(directory, `run-${index + 1}`));
}

async function temporary() {
  const directory = await mkdtemp(join(tmpdir(), "p20export-"));
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
