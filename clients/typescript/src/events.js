/**
 * One block of a stream of server-sent events.
 * @typedef {object} SentEvent
 * @property {string} [id] The value of the line `id`, if the block has one.
 * @property {string} [data] The lines `data`, joined by line feeds, if the block has any.
 */

/**
 * Reads server-sent events as they arrive, by the rules of the HTML standard. A block counts
 * only when its blank line has arrived. Of the fields, only `id` and `data` are kept.
 */
export class EventParser {
  #line = "";
  #afterReturn = false; // the last character was a CR, so an LF now ends no line
  /** @type {SentEvent} */
  #event = {};

  /**
   * Returns the events that a piece of the stream completes.
   * @param {string} text
   * @returns {SentEvent[]}
   */
  push(text) {
    if (text === "") return [];
    if (this.#afterReturn && text.startsWith("\n")) text = text.slice(1);
    this.#afterReturn = text.endsWith("\r");
    const lines = text.split(/\r\n|\n|\r/);
    lines[0] = this.#line + lines[0];
    this.#line = lines.pop() ?? "";
    const events = [];
    for (const line of lines) {
      if (line !== "") {
        this.#field(line);
        continue;
      }
      if (this.#event.id !== undefined || this.#event.data !== undefined) events.push(this.#event);
      this.#event = {};
    }
    return events;
  }

  /** @param {string} line */
  #field(line) {
    const [, name, value = ""] = /^([^:]*)(?:: ?([^]*))?$/.exec(line) ?? [];
    const { data } = this.#event;
    if (name === "data") this.#event.data = data === undefined ? value : `${data}\n${value}`;
    if (name === "id" && !value.includes("\0")) this.#event.id = value;
  }
}

/**
 * Reads the events of a response until it ends. Fails if the connection breaks or if the bytes
 * are not UTF-8.
 * @param {ReadableStream<Uint8Array>} body
 * @param {() => void} arrived is called when bytes arrive.
 * @returns {AsyncGenerator<SentEvent, void, void>}
 */
export async function* readEvents(body, arrived) {
  const decoder = new TextDecoder("utf-8", { fatal: true }); // it drops a byte order mark
  const parser = new EventParser();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      arrived();
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => {}); // the connection may have failed already
  }
}
