// The view functions: html`<p>${text}</p>` makes an element. Texts are always text nodes.
import { h } from "preact";
import htm from "htm";
import { pieces } from "./shared.js";

export { render } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { count, plural } from "./shared.js";
export const html = htm.bind(h);

// visible returns a text in which every character is visible, as children of an element. Line
// breaks and tabs stay as they are if breaks is true.
export const visible = (text, breaks) => {
  const all = pieces(text, breaks);
  return all.length === 1 ? text : all.map((piece, i) => (i % 2 ? html`<b class="x">${piece}</b>` : piece));
};

// plain is like visible, for places that cannot have elements, such as titles and labels.
export const plain = (text) => pieces(text).join("");
