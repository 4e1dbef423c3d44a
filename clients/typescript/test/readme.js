import { readFileSync } from "node:fs";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

/** Returns the example of README.md that contains a text, of those in a language. */
export function example(language, text) {
  const [block, ...others] = [...readme.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].filter(([, tag, code]) => tag === language && code.includes(text));
  if (!block || others.length) throw new Error(`README.md has ${block ? "several examples" : "no example"} with ${text}`);
  return block[2];
}
