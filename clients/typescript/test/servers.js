// Servers for the tests: p20export serve in front of p20export replay, and a proxy in front of
// serve that breaks connections.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createHTTPServer, request as forward } from "node:http";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "../src/testing/program.js";

export const root = process.env.P20EXPORT_ROOT ?? new URL("../../..", import.meta.url).pathname;
export const captures = join(root, "discovery/captures/agent-framework");

/** Returns a new directory that is removed after the test. */
export function scratch(t) {
  const directory = mkdtempSync(join(tmpdir(), "p20export-test-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/**
 * Starts p20export serve with agents, which are names and addresses. It can be restarted; its
 * address then changes, so clients need a proxy in front.
 */
export async function serve(t, upstreams, ...flags) {
  const store = `sqlite:${join(scratch(t), "events.db")}`;
  const agents = Object.entries(upstreams).map(([name, url]) => `--upstream=${name}=${url}`);
  const args = ["serve", "--store", store, "--drain", "0s", ...agents, ...flags];
  let server = await start(args, "SIGTERM");
  t.after(() => server.close());
  return {
    get url() {
      return server.url;
    },
    async restart() {
      await server.close();
      server = await start(args, "SIGTERM");
    },
  };
}

/**
 * Listens on a port and passes connections on to a target, which can change. damage is called
 * for each connection, and returns what happens to its response.
 *
 * @param {() => string} target
 * @param {() => {after: number, kind: "cut" | "end" | "stall" | "garbage", bytes?: Buffer} | undefined} damage
 */
export async function faultyProxy(t, target, damage) {
  const open = new Set();
  const server = createServer((client) => {
    const { hostname, port } = new URL(target());
    const upstream = createConnection({ host: hostname, port: Number(port) });
    const fault = damage();
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => {}); // a broken connection is what these tests are about
      socket.on("close", () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    let passed = 0;
    upstream.on("data", (chunk) => {
      const end = fault ? fault.after - passed : Infinity;
      passed += chunk.length;
      if (end >= chunk.length) return client.write(chunk);
      client.write(chunk.subarray(0, Math.max(0, end)));
      if (fault.kind === "cut") client.resetAndDestroy();
      if (fault.kind === "end") client.end(); // not at the end of a message, so HTTP notices
      if (fault.kind === "stall") upstream.pause();
      if (fault.kind === "garbage") {
        client.write(fault.bytes);
        client.write(chunk.subarray(end));
        fault.after = Infinity;
      }
    });
  });
  t.after(() => {
    for (const socket of open) socket.destroy();
  });
  return `http://127.0.0.1:${await listen(t, server)}`;
}

/** Returns numbers from 0 up to 1 that depend on a seed only. */
export function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let value = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296;
  };
}

/** Returns the data of the events of a run, as a reader gets them that is never disturbed. */
export async function undisturbed(server, threadId) {
  const response = await fetch(`${server}/threads/${encodeURIComponent(threadId)}/events?follow=false`);
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: "));
  return lines.map((line) => JSON.parse(line.slice(6)));
}

/**
 * A reverse proxy that answers some requests itself, ends responses in good order after some
 * bytes, as proxies do that have a limit, or holds them there until a promise is fulfilled. It
 * takes a plan for each request, as long as there are.
 *
 * @param {() => string} target
 * @param {({status: number, headers?: object, body?: string} | {after: number, until?: Promise<void>} | undefined)[]} plans
 */
export async function reverseProxy(t, target, plans) {
  const server = createHTTPServer((request, response) => {
    const plan = plans.shift();
    if (plan?.status) return response.writeHead(plan.status, plan.headers).end(plan.body);
    const forwarded = forward(target() + request.url, { method: request.method, headers: request.headers });
    forwarded.on("error", () => response.destroy());
    response.on("close", () => forwarded.destroy());
    forwarded.on("response", (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      let left = plan?.after ?? Infinity;
      answer.on("data", (chunk) => {
        if (response.writableEnded) return; // a chunk that had arrived already
        response.write(chunk.subarray(0, left));
        if (chunk.length < left) return void (left -= chunk.length);
        if (!plan.until) return response.end();
        answer.pause();
        plan.until.then(() => {
          response.write(chunk.subarray(left));
          left = Infinity;
          answer.resume();
        });
      });
      answer.on("end", () => response.end());
      answer.on("error", () => response.destroy());
    });
    request.pipe(forwarded);
  });
  return `http://127.0.0.1:${await listen(t, server)}`;
}

/** Listens on a free port until the test ends, and returns the port. */
export async function listen(t, server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections?.();
    server.close();
  });
  return server.address().port;
}
