/**
 * Keeps the threads of CopilotKit's runtime in the log of `p20export serve --allow-append`:
 *
 *     new CopilotRuntime({ agents, runner: new ThreadRunner("http://127.0.0.1:8080") })
 *
 * Agents run in the runtime. Their events reach clients when the log has them durably.
 */
export class ThreadRunner extends AgentRunner {
    /**
     * @param {string} server The URL of p20export serve.
     * @param {object} [options]
     * @param {Record<string, string>} [options.headers] Headers for each request, such as Authorization.
     */
    constructor(server: string, { headers }?: {
        headers?: Record<string, string> | undefined;
    });
    /**
     * Stops the active run of the thread, in this runtime or another. Returns false if there is
     * none, or if it is not the run that the request names.
     *
     * @param {AgentRunnerStopRequest} request
     */
    stop({ threadId, runId }: AgentRunnerStopRequest): Promise<boolean>;
    #private;
}
import { AgentRunner } from "@copilotkit/runtime/v2";
import type { AgentRunnerStopRequest } from "@copilotkit/runtime/v2";
