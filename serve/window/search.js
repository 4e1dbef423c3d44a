// What people type to find threads: words, and end:, agent:, after: and before: with a value.
import { endWord } from "./shell.js";

// time returns the beginning of a day, or of a time such as 2026-11-01T12:30, in the zone of the
// browser, in milliseconds; NaN if it is no time.
const time = (text) => {
  const parts = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d))?$/.exec(text);
  return parts ? new Date(+parts[1], parts[2] - 1, +parts[3], +(parts[4] ?? 0), +(parts[5] ?? 0)).getTime() : NaN;
};

// token matches a word, or a value with what it is for; both may be in quotes.
const token = /(?:(end|agent|after|before):)?(?:"([^"]*)"?|(\S+))/gi;

// parse reads a search. Its problem is what cannot be understood.
export const parse = (text) => {
  const search = { words: [], end: "", agent: "", after: NaN, before: NaN, problem: "" };
  for (const [all, key, quoted, bare] of text.matchAll(token)) {
    const value = (quoted ?? bare).toLowerCase();
    switch (key?.toLowerCase()) {
      case undefined:
        if (value) search.words.push(value);
        break;
      case "after":
      case "before":
        search[key.toLowerCase()] = time(value.toUpperCase());
        if (Number.isNaN(search[key.toLowerCase()])) search.problem = all + " has no date such as 2026-11-01 or 2026-11-01T12:30.";
        break;
      default:
        search[key.toLowerCase()] = value;
    }
  }
  return search;
};

// matches reports whether a row of the list is found, without regard to its end.
export const matches = (search, row) =>
  search.words.every((word) => row.text.includes(word)) && (!search.agent || row.agent.toLowerCase() === search.agent) && (Number.isNaN(search.after) || row.started >= search.after) && (Number.isNaN(search.before) || row.started < search.before);

// matchesEnd reports whether a row has the end that is searched for.
export const matchesEnd = (search, row) => !search.end || endWord(row.end) === search.end;

// withEnd returns a search with another end, or without one.
export const withEnd = (text, end) => {
  const rest = text.replaceAll(/(?:^|\s)end:(?:"[^"]*"?|\S+)/gi, "").trim();
  return end ? (rest + " end:" + end).trim() : rest;
};
