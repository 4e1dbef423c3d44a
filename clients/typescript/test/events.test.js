// The parser of server-sent events, by the examples and rules of the HTML standard.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser, readEvents } from "../src/events.js";

const cases = [
  ["lines end with LF", "id: 1\ndata: a\n\n", [{ id: "1", data: "a" }]],
  ["lines end with CR", "id: 1\rdata: a\r\r", [{ id: "1", data: "a" }]],
  ["lines end with CR LF", "id: 1\r\ndata: a\r\n\r\n", [{ id: "1", data: "a" }]],
  ["several ends", "data: a\r\n\ndata: b\r\rdata: c\n\r\n", [{ data: "a" }, { data: "b" }, { data: "c" }]],
  ["several lines of data", "data: a\ndata:b\ndata\n\n", [{ data: "a\nb\n" }]],
  ["one space is removed", "data:  a\n\n", [{ data: " a" }]],
  ["a colon in the data", "data: a: b\n\n", [{ data: "a: b" }]],
  ["a line separator is no end", "data: a\u2028b\n\n", [{ data: "a\u2028b" }]],
  ["comments and other fields", ": ping\n\nevent: x\nretry: 5\ndata: a\n\n", [{ data: "a" }]],
  ["an id alone", "id: 7\n\n", [{ id: "7" }]],
  ["an empty id", "data: a\nid:\n\nid\n\n", [{ id: "", data: "a" }, { id: "" }]],
  ["an id with NUL", "id: 1\u00002\ndata: a\n\n", [{ data: "a" }]],
  ["an event without its blank line", "data: a\n\ndata: b\n", [{ data: "a" }]],
  ["a byte order mark", "\ufeffdata: a\n\n", [{ data: "a" }]],
  ["more than ASCII", "data: ü🙂\n\n", [{ data: "ü🙂" }]],
];

for (const [name, text, expected] of cases) {
  test(name, async () => {
    const bytes = new TextEncoder().encode(text);
    for (let size = 1; size <= bytes.length; size++) {
      const pieces = [];
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
      const events = [];
      for await (const event of readEvents(ReadableStream.from(pieces), () => {})) events.push(event);
      assert.deepEqual(events, expected, `in pieces of ${size} bytes`);
    }
  });
}

test("an empty piece between CR and LF", () => {
  const parser = new EventParser();
  assert.deepEqual(["data: a\r", "", "\n\r", "\n"].flatMap((piece) => parser.push(piece)), [{ data: "a" }]);
});

test("bytes that are not UTF-8", async () => {
  const events = readEvents(ReadableStream.from([Uint8Array.of(0x64, 0xff)]), () => {});
  await assert.rejects(events.next(), { name: "TypeError" });
});
