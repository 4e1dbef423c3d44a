/** @import {AgentSubscriber, HttpAgentConfig, RunAgentInput, RunAgentParameters, RunAgentResult} from "@ag-ui/client" */
/** @import {Cursors} from "./cursors.js" */
/** @import {Reconnection, Source} from "./stream.js" */
/**
 * The settings of a ThreadAgent: those of HttpAgent, and these. The address of the agent is
 * `url`, or `server` and `agent`.
 * @typedef {Omit<HttpAgentConfig, "url"> & Reconnection & ({url: string} | {server: string, agent: string}) & {cursors?: Cursors}} ThreadAgentConfig
 */
/**
 * A run of a thread, as p20export serve lists it. More members are in its documentation.
 * @typedef {{run_id: string, parent_run_id: string | null, end: "open" | "finished" | "interrupted" | "cancelled" | "failed" | "cut", [member: string]: unknown}} Run
 */
/**
 * The parameters of a run, which can name the earlier run that it continues.
 * @typedef {RunAgentParameters & {parentRunId?: string, abortController?: AbortController}} ThreadRunParameters
 */
/**
 * An agent behind p20export serve. Its runs outlive the connection and the page: when the
 * connection breaks, the run goes on where it was, and its subscribers notice nothing.
 */
export class ThreadAgent extends HttpAgent {
    /** @param {ThreadAgentConfig} config */
    constructor({ cursors, stallTimeout, retryDelay, maxRetryDelay, onRetry, ...config }: ThreadAgentConfig);
    /** The address of the server. */
    server: string;
    cursors: Cursors;
    /** @type {Reconnection} */
    reconnection: Reconnection;
    /**
     * Joins the thread: its messages and its state replace those of this agent, and if a run is
     * open, its events follow until it ends.
     * @param {ThreadRunParameters} [parameters]
     * @param {AgentSubscriber} [subscriber]
     * @returns {Promise<RunAgentResult>}
     */
    connectAgent(parameters?: ThreadRunParameters, subscriber?: AgentSubscriber): Promise<RunAgentResult>;
    /**
     * Starts a run.
     * @param {ThreadRunParameters} [parameters]
     * @param {AgentSubscriber} [subscriber]
     * @returns {Promise<RunAgentResult>}
     */
    runAgent(parameters?: ThreadRunParameters, subscriber?: AgentSubscriber): Promise<RunAgentResult>;
    /**
     * Continues after a reload. If the last run of the thread was started with these cursors and
     * its end was not seen, its messages are those of its request, and all its events follow,
     * from the first. A request that has not reached the server is sent. Otherwise, joins the
     * thread, as connectAgent does.
     * @param {ThreadRunParameters} [parameters]
     * @param {AgentSubscriber} [subscriber]
     * @returns {Promise<RunAgentResult>}
     */
    resume(parameters?: ThreadRunParameters, subscriber?: AgentSubscriber): Promise<RunAgentResult>;
    /**
     * Returns the runs of the thread, oldest first.
     * @returns {Promise<Run[]>}
     */
    runs(): Promise<Run[]>;
    /**
     * Replaces the messages and the state by those at the end of a run, or at the end of the thread.
     * To continue there, give the id as `parentRunId` to runAgent.
     * @param {string} [runId]
     * @returns {Promise<void>}
     */
    restore(runId?: string): Promise<void>;
    /**
     * Ends a run, also one that another page started; by default the one that is open. Returns how
     * it ended, or undefined if none is open. (abortRun only leaves the run: the server ends it
     * when the next one begins.)
     * @param {string} [runId]
     * @returns {Promise<Run["end"] | undefined>}
     */
    cancel(runId?: string): Promise<Run["end"] | undefined>;
    /** @returns {ThreadAgent} */
    clone(): ThreadAgent;
    /**
     * Adds the run that a run continues, for which runAgent has no parameter.
     * @protected
     * @param {ThreadRunParameters} [parameters]
     * @returns {RunAgentInput}
     */
    protected prepareRunAgentInput(parameters?: ThreadRunParameters): RunAgentInput;
    /**
     * Replaces what the agent knows of the conversation.
     * @protected
     * @param {HttpAgent["messages"]} messages
     * @param {HttpAgent["state"]} state
     * @param {HttpAgent["pendingInterrupts"]} [interrupts]
     */
    protected setConversation(messages: HttpAgent["messages"], state: HttpAgent["state"], interrupts?: HttpAgent["pendingInterrupts"]): void;
    /**
     * Returns the address of something in the thread, such as its runs.
     * @protected
     * @param {...string} path
     */
    protected address(...path: string[]): string;
    /**
     * Returns the JSON of an answer to a request with the headers of this agent.
     * @protected
     * @param {string} address
     * @param {RequestInit} [init]
     * @returns {Promise<any>}
     */
    protected request(address: string, init?: RequestInit): Promise<any>;
}
/**
 * The settings of a ThreadAgent: those of HttpAgent, and these. The address of the agent is
 * `url`, or `server` and `agent`.
 */
export type ThreadAgentConfig = Omit<HttpAgentConfig, "url"> & Reconnection & ({
    url: string;
} | {
    server: string;
    agent: string;
}) & {
    cursors?: Cursors;
};
/**
 * A run of a thread, as p20export serve lists it. More members are in its documentation.
 */
export type Run = {
    run_id: string;
    parent_run_id: string | null;
    end: "open" | "finished" | "interrupted" | "cancelled" | "failed" | "cut";
    [member: string]: unknown;
};
/**
 * The parameters of a run, which can name the earlier run that it continues.
 */
export type ThreadRunParameters = RunAgentParameters & {
    parentRunId?: string;
    abortController?: AbortController;
};
import { HttpAgent } from "@ag-ui/client";
import type { Cursors } from "./cursors.js";
import type { Reconnection } from "./stream.js";
import type { AgentSubscriber } from "@ag-ui/client";
import type { RunAgentResult } from "@ag-ui/client";
import type { RunAgentInput } from "@ag-ui/client";
import type { HttpAgentConfig } from "@ag-ui/client";
import type { RunAgentParameters } from "@ag-ui/client";
