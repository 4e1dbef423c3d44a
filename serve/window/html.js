// The view functions: html`<p>${text}</p>` makes an element. Texts are always text nodes.
import { h } from "preact";
import htm from "htm";

export { render } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export const html = htm.bind(h);
