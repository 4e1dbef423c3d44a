import { createServer, request as send } from "node:http";

/**
 * A proxy between runtimes and serve. It loses batches and their answers, sends batches twice or
 * again later, and cuts off what readers get.
 */
export class Proxy {
  /**
   * Called for each batch: "before" it is forwarded, "during" that, and "after" the answer.
   *
   * @type {(moment: string, body: string) => Promise<void>}
   */
  watch = async () => {};
  /** How often each fault has happened. */
  faults = { lost: 0, late: 0, twice: 0, unanswered: 0, cut: 0 };
  #late = [];
  #active = new Set();
  #target;
  #random;
  #server = createServer((request, response) => this.#serve(request, response).catch(() => response.destroy()));

  /**
   * @param {string} target The URL of serve.
   * @param {() => number} random
   */
  constructor(target, random) {
    this.#target = target;
    this.#random = random;
  }

  /** Starts the proxy and returns its URL. */
  async start() {
    await new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  stop() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Waits until no batch is on its way. */
  async settled() {
    while (this.#active.size > 0) await Promise.allSettled(this.#active);
  }

  async #serve(request, response) {
    const sent = { url: request.url, method: request.method, headers: request.headers, body: String(Buffer.concat(await request.toArray())) };
    if (request.method === "POST" && request.url.endsWith("/events")) {
      const batch = this.#batch(sent, response);
      this.#active.add(batch);
      return batch.finally(() => this.#active.delete(batch));
    }
    const answer = await this.#forward(sent);
    response.writeHead(answer.statusCode, answer.headers);
    let left = this.#random() < 0.5 ? Math.floor(this.#random() * 2000) : Infinity;
    for await (const chunk of answer) {
      const part = chunk.subarray(0, left);
      left -= part.length;
      await new Promise((resolve) => response.write(part, resolve));
      if (part.length < chunk.length) this.#fail("cut");
    }
    response.end();
  }

  async #batch(sent, response) {
    await this.watch("before", sent.body);
    const fault = this.#random();
    // It comes after a later batch. The first of a run could then begin a run whose runtime has
    // given up, which only the timeout of serve ends.
    if (fault < 0.15 && !sent.body.includes('"sequence":0,')) this.#late.push(sent);
    if (fault < 0.08) this.#fail("lost");
    const answers = [this.#whole(sent)];
    if (fault > 0.15 && fault < 0.25) {
      this.faults.twice++;
      answers.push(this.#whole(sent));
    }
    const answered = Promise.all(answers);
    answered.catch(() => {}); // serve was killed; awaited below
    await this.watch("during", sent.body);
    // The thread can be busy for one copy and free for the other.
    const { status, headers, body } = (await answered).find((answer) => answer.status === 200) ?? (await answers[0]);
    await this.watch("after", sent.body);
    if (this.#random() < 0.3) {
      for (const old of this.#late.splice(0)) {
        this.faults.late++;
        await this.#whole(old);
      }
    }
    if (fault > 0.94) this.#fail("unanswered");
    response.writeHead(status, headers).end(body);
  }

  #fail(fault) {
    this.faults[fault]++;
    throw new Error(fault);
  }

  /** Forwards a request and returns the whole answer. */
  async #whole(sent) {
    const answer = await this.#forward(sent);
    return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(await answer.toArray()) };
  }

  #forward({ url, method, headers, body }) {
    return new Promise((resolve, reject) => {
      send(this.#target + url, { method, headers }, resolve).on("error", reject).end(body);
    });
  }
}
