// Prints the events of a run, one on each line, as the client for TypeScript gets them. When the
// connection breaks, it goes on at the last offset.
import { stream } from "@durable-streams/client";

const [url, live] = process.argv.slice(2);
let offset = "-1";

/** Reads until the stream is closed, or the connection breaks. */
function read(signal) {
  return new Promise((resolve, reject) => {
    // The client does not always tell that a connection broke: then nothing is left to do.
    process.once("beforeExit", reject);
    stream({ url, offset, live, json: true }).then((response) => {
      response.closed.catch(reject);
      response.subscribeJson((batch) => {
        if (signal.aborted) return; // It came before the error, and is read again.
        for (const event of batch.items) console.log(JSON.stringify(event));
        offset = batch.offset;
        if (batch.streamClosed) resolve(true);
      });
    }, reject);
  });
}

for (let ended = false; !ended; ) {
  const reading = new AbortController();
  ended = await read(reading.signal).catch(() => false);
  reading.abort();
  process.removeAllListeners("beforeExit");
}
