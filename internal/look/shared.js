"use strict";
// What the scripts of all pages share.

const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}]/gu; // as finding.NeedsEscape
const count = new Intl.NumberFormat("en");

// plural formats a number with the matching form of its noun.
const plural = (n, one, many) => count.format(n) + " " + (n === 1 ? one : many);

// picture returns the visible replacement of an invisible character. A lone surrogate
// represents a byte that is not valid UTF-8.
const picture = (c) => {
  const code = c.codePointAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  const hex = code.toString(16).toUpperCase();
  if (code >= 0xdc80 && code <= 0xdcff) return "\u27e8x" + hex.slice(2) + "\u27e9";
  return "\u27e8U+" + hex.padStart(4, "0") + "\u27e9";
};

// pieces splits a text at its invisible characters: texts that are shown as they are alternate
// with pictures of characters. Line breaks and tabs stay in the texts if breaks is true.
const pieces = (text, breaks) => {
  const all = [];
  let done = 0;
  for (const match of text.matchAll(unseen)) {
    const c = match[0];
    if (breaks && (c === "\n" || c === "\t")) continue;
    all.push(text.slice(done, match.index), picture(c));
    done = match.index + c.length;
  }
  all.push(text.slice(done));
  return all;
};
