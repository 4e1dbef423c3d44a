/** @import {ChatModelRunResult, ThreadAssistantMessagePart, ThreadHistoryAdapter, ThreadMessageLike} from "@assistant-ui/react" */
/** @import {ThreadAgent} from "./agent.js" */
/**
 * Returns the history of the agent's thread, for `adapters` of useAgUiRuntime: a page that loads
 * shows the conversation, and if a run is open, goes on with it live. What the open run has said
 * after the last message of the user is one message, until the next load.
 * @param {ThreadAgent} agent The agent of the runtime.
 * @returns {ThreadHistoryAdapter}
 */
export function threadHistory(agent: ThreadAgent): ThreadHistoryAdapter;
import type { ThreadAgent } from "./agent.js";
import type { ThreadHistoryAdapter } from "@assistant-ui/react";
