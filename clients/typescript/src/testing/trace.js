import { execFile } from "node:child_process";
import { binary } from "./program.js";

/** @import {Recording} from "./servers.js" */

/**
 * A matcher for expect.extend of Vitest, Jest and Playwright: compares recorded runs with the
 * goldens in a directory, event by event, in the normal form in which ids, times and the pieces
 * of a text do not count. A recording is closed first. With P20EXPORT_WRITE_GOLDEN=REASON in the
 * environment, goldens that differ are written instead.
 * @param {string | Recording} captures A directory of captures, or what record returns.
 * @param {string} golden A directory.
 * @returns {Promise<{pass: boolean, message: () => string}>}
 */
export async function toMatchTrace(captures, golden) {
  if (typeof captures !== "string") await captures.close();
  const directory = typeof captures === "string" ? captures : captures.captures;
  const reason = process.env.P20EXPORT_WRITE_GOLDEN;
  const flags = reason ? ["--write-golden", golden, "--reason", reason] : ["--golden", golden];
  const { status, output } = await run(["compare", directory, ...flags]);
  const help = reason ? "" : `\nIf the new runs are as they should be, write the goldens: run the test again with P20EXPORT_WRITE_GOLDEN="why they change"`;
  return {
    pass: status === 0,
    message: () => (status === 0 ? `the runs in ${directory} equal the goldens in ${golden}` : `${output.trim()}\n${help}`),
  };
}

/**
 * @param {string[]} args
 * @returns {Promise<{status: number, output: string}>}
 */
function run(args) {
  return new Promise((resolve, reject) => {
    execFile(binary(), args, { maxBuffer: Infinity, windowsHide: true }, (error, stdout, stderr) => {
      if (error && typeof error.code !== "number") reject(error);
      else resolve({ status: Number(error?.code ?? 0), output: stdout + stderr });
    });
  });
}
