import { AbstractAgent } from "@ag-ui/client";
import { Observable } from "rxjs";

/**
 * An agent without a model. It answers a message with a text, a call of its own tool `count`
 * with the result, and a call of the tool `paint` of the page. It answers the result of that
 * with another text. A gate decides when it goes on after each event.
 */
export class Painter extends AbstractAgent {
  #gate;
  #aborted;

  /** @param {(event: object, aborted: AbortSignal) => Promise<void>} gate */
  constructor(gate) {
    super();
    this.#gate = gate;
  }

  clone() {
    return new Painter(this.#gate);
  }

  abortRun() {
    this.#aborted?.abort();
  }

  run(input) {
    const { signal } = (this.#aborted = new AbortController());
    return new Observable((subscriber) => {
      (async () => {
        for (const event of answer(input)) {
          subscriber.next(event);
          await this.#gate(event, signal);
          signal.throwIfAborted();
        }
      })().then(
        () => subscriber.complete(),
        (error) => subscriber.error(error),
      );
    });
  }
}

/** Yields the answer to a request, which is always the same. */
export function* answer({ threadId, runId, messages }) {
  const last = messages.at(-1);
  yield { type: "RUN_STARTED", threadId, runId };
  if (last.role === "tool") {
    yield* text(`${runId}-text`, `The page is ${JSON.parse(last.content).color} now.`);
  } else {
    yield* text(`${runId}-text`, `You wrote "${last.content}" 😀 with a number of letters that I count first.`);
    yield* call(`${runId}-count`, "count", { text: last.content });
    yield { type: "TOOL_CALL_RESULT", messageId: `${runId}-counted`, toolCallId: `${runId}-count`, content: String(last.content.length) };
    yield* call(`${runId}-paint`, "paint", { color: "teal" });
  }
  yield { type: "RUN_FINISHED", threadId, runId };
}

function* text(messageId, words) {
  yield { type: "TEXT_MESSAGE_START", messageId, role: "assistant" };
  for (const delta of words.split(/(?<= )/)) yield { type: "TEXT_MESSAGE_CONTENT", messageId, delta };
  yield { type: "TEXT_MESSAGE_END", messageId };
}

function* call(toolCallId, toolCallName, args) {
  yield { type: "TOOL_CALL_START", toolCallId, toolCallName };
  for (const delta of JSON.stringify(args).split(/(?<=:)/)) yield { type: "TOOL_CALL_ARGS", toolCallId, delta };
  yield { type: "TOOL_CALL_END", toolCallId };
}

/** Returns what a runner needs to let an agent answer one message. */
export function request(agent, { threadId, runId, content }) {
  const messages = [{ id: `${runId}-user`, role: "user", content }];
  agent.threadId = threadId;
  agent.setMessages(messages);
  return { threadId, agent, input: { threadId, runId, messages, state: {}, tools: [], context: [], forwardedProps: {} } };
}
