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
export function toMatchTrace(captures: string | Recording, golden: string): Promise<{
    pass: boolean;
    message: () => string;
}>;
import type { Recording } from "./servers.js";
