import { ExportedMessageRepository } from "@assistant-ui/react";
import { fromAgUiMessages } from "@assistant-ui/react-ag-ui";

/** @import {ChatModelRunResult, ThreadAssistantMessagePart, ThreadHistoryAdapter, ThreadMessageLike} from "@assistant-ui/react" */
/** @import {ThreadAgent} from "./agent.js" */

/**
 * Returns the history of the agent's thread, for `adapters` of useAgUiRuntime: a page that loads
 * shows the conversation, and if a run is open, goes on with it live. What the open run has said
 * after the last message of the user is one message, until the next load.
 * @param {ThreadAgent} agent The agent of the runtime.
 * @returns {ThreadHistoryAdapter}
 */
export function threadHistory(agent) {
  return {
    async load() {
      const run = (await agent.runs()).at(-1);
      if (!run) return { messages: [] };
      await agent.restore();
      const open = run.end === "open";
      const messages = open ? agent.messages.slice(0, turn(agent.messages)) : agent.messages;
      const converted = /** @type {ThreadMessageLike[]} */ (fromAgUiMessages(messages));
      const last = converted.at(-1);
      if (last?.role === "assistant") converted[converted.length - 1] = { ...last, ...interrupted(agent) };
      return { ...ExportedMessageRepository.fromArray(converted), state: agent.state, unstable_resume: open };
    },

    async *resume() {
      let ended = false;
      /** @type {ChatModelRunResult["status"]} */
      let status;
      let changed = () => {};
      let change = new Promise((resolve) => (changed = () => resolve(undefined)));
      const run = agent
        .connectAgent(undefined, {
          onMessagesChanged: () => changed(),
          onRunErrorEvent: ({ event }) => {
            status = { type: "incomplete", reason: "error", error: event.message };
          },
        })
        .finally(() => {
          ended = true;
          changed();
        });
      run.catch(() => {}); // it is awaited below
      try {
        while (!ended) {
          await change;
          change = new Promise((resolve) => (changed = () => resolve(undefined)));
          yield { content: parts(agent.messages.slice(turn(agent.messages))) };
        }
        await run;
        yield { ...interrupted(agent), ...(status && { status }) };
      } finally {
        if (!ended) agent.abortRun();
      }
    },

    // The server has the messages already.
    async append() {},
  };
}

/**
 * Returns the index of the message after the last one of the user.
 * @param {ThreadAgent["messages"]} messages
 */
function turn(messages) {
  return messages.findLastIndex(({ role }) => role === "user") + 1;
}

/**
 * Returns the parts of messages of the assistant, in order.
 * @param {ThreadAgent["messages"]} messages
 * @returns {ThreadAssistantMessagePart[]}
 */
function parts(messages) {
  const assistant = ExportedMessageRepository.fromArray(/** @type {ThreadMessageLike[]} */ (fromAgUiMessages(messages))).messages;
  return assistant.flatMap(({ message }) => (message.role === "assistant" ? message.content : []));
}

/**
 * Returns what marks a message of the assistant as waiting for an answer of the user.
 * @param {ThreadAgent} agent
 */
function interrupted({ pendingInterrupts }) {
  if (!pendingInterrupts.length) return undefined;
  const status = /** @type {const} */ ({ type: "requires-action", reason: "interrupt" });
  return { status, metadata: { custom: { agui: { interrupts: pendingInterrupts } } } };
}
