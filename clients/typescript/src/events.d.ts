/**
 * Reads the events of a response until it ends. Fails if the connection breaks or if the bytes
 * are not UTF-8.
 * @param {ReadableStream<Uint8Array>} body
 * @param {() => void} arrived is called when bytes arrive.
 * @returns {AsyncGenerator<SentEvent, void, void>}
 */
export function readEvents(body: ReadableStream<Uint8Array>, arrived: () => void): AsyncGenerator<SentEvent, void, void>;
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
    /**
     * Returns the events that a piece of the stream completes.
     * @param {string} text
     * @returns {SentEvent[]}
     */
    push(text: string): SentEvent[];
    #private;
}
/**
 * One block of a stream of server-sent events.
 */
export type SentEvent = {
    /**
     * The value of the line `id`, if the block has one.
     */
    id?: string | undefined;
    /**
     * The lines `data`, joined by line feeds, if the block has any.
     */
    data?: string | undefined;
};
