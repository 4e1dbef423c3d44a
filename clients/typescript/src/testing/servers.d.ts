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
export function replay(captures: string, { speed, match, ids, allowOrigin }?: ReplayOptions): Promise<Server>;
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
export function record(agent: string, { captures }?: {
    captures?: string;
}): Promise<Recording>;
/**
 * How recorded runs are sent.
 */
export type ReplayOptions = {
    /**
     * Divides the recorded pauses; 1 keeps them. The default, 0, removes them.
     */
    speed?: number | undefined;
    /**
     * Which capture answers: the next one, or the one with the same last user message.
     */
    match?: "input" | "order" | undefined;
    /**
     * Replaces the recorded ids of thread and run by those of the request.
     */
    ids?: "request" | undefined;
    /**
     * The origin whose pages can read the responses, such as http://localhost:5173, or *.
     */
    allowOrigin?: string | undefined;
};
/**
 * A server that records, and the directory of its captures. When it is closed, they are named
 * run-1, run-2 and so on, in the order of the requests.
 */
export type Recording = Server & {
    captures: string;
};
import type { Server } from "./program.js";
