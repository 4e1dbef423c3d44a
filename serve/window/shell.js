// What all pages of the window share: announcements, problems and links.
import { html, useEffect } from "./html.js";

// announce tells a screen reader about a change, politely.
export const announce = (text) => {
  document.getElementById("said").textContent = text;
};

// The colours of the ends of runs.
const colours = { open: "calm", finished: "good", interrupted: "warn", failed: "bad", cut: "bad" };

// endWord returns the word with which an end is searched for. The end is null without a run.
export const endWord = (end) => end ?? "none";

// End shows how a run ended.
export const End = ({ end }) => html`<span class=${"verdict end-" + (Object.hasOwn(colours, end) ? colours[end] : "none")}>${end ?? "no run"}</span>`;

// next says what the reader can do about a problem.
const next = (problem) => {
  switch (problem.status) {
    case 0:
      return "Check that the server runs and that this machine can reach it. If a web server asked for a login, load the page again.";
    case 401:
      return "Give a token that the server accepts.";
    case 403:
      return "The token or the address of this page has no access. Whoever runs the server can change that.";
    case 404:
      return "It may have been deleted, or be in the log of another tenant.";
    case 429:
    case 503:
      return "The server is busy. Try again in a moment.";
  }
  return problem.status >= 500 ? "The log of the server says more." : "";
};

// Failure shows a problem, what to do next, and a button that tries again.
export const Failure = ({ problem, retry }) => html`<div class="note failure" role="alert">
<p><strong>${problem.message}</strong> ${next(problem)}</p>
${retry && html`<button type="button" onClick=${retry}>Try again</button>`}
</div>`;

// address returns the address of a thread at a position, or of the list, relative to the page.
export const address = ({ thread, at, find }) => {
  const query = new URLSearchParams();
  if (thread) query.set("thread", thread);
  if (thread && at) query.set("at", at);
  if (!thread && find) query.set("find", find);
  return query.size ? "?" + query : location.pathname;
};

// Link is a link to a place of the window, which opens without loading the page again. A click
// with a key that opens a new tab or window is the browser's.
export const Link = ({ to, go, children, ...rest }) => html`<a ...${rest} href=${address(to)} onClick=${(e) => {
  if (e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
  e.preventDefault();
  go(to);
}}>${children}</a>`;

// useKeys calls the handler of a key that is pressed outside of fields and dialogs:
// { key: (event) => … }. Keys with Ctrl, Alt or Meta are not for it.
export const useKeys = (handlers) => useEffect(() => {
  const pressed = (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea, dialog")) return;
    const handler = Object.hasOwn(handlers, e.key) && handlers[e.key];
    if (!handler) return;
    e.preventDefault();
    handler(e);
  };
  document.addEventListener("keydown", pressed);
  return () => document.removeEventListener("keydown", pressed);
});

// useFocus keeps the focus in the page when the element that has it is removed or moved, or can no
// longer have it: the nearest element around it that is still there gets it.
export const useFocus = () => useEffect(() => {
  let path = []; // from the element that has the focus to main
  const focused = (e) => {
    path = [];
    if (!e.target.closest("main")) return;
    for (let element = e.target; path.at(-1)?.id !== "main"; element = element.parentElement) path.push(element);
  };
  const left = () => {
    path = []; // who presses a button of the mouse looks where it goes
  };
  const observer = new MutationObserver(() => {
    if (!path.length || !document.hasFocus() || (document.activeElement !== document.body && !path[0].disabled)) return;
    const near = path.find((element) => element.isConnected && !element.disabled);
    if (!near) return;
    if (near.tabIndex < 0 && !near.hasAttribute("tabindex")) {
      near.tabIndex = -1;
      near.addEventListener("blur", () => near.removeAttribute("tabindex"), { once: true });
    }
    near.focus({ preventScroll: true });
  });
  document.addEventListener("focusin", focused);
  document.addEventListener("pointerdown", left);
  observer.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["disabled"] });
  return () => {
    document.removeEventListener("focusin", focused);
    document.removeEventListener("pointerdown", left);
    observer.disconnect();
  };
}, []);

// usePrint calls a function before the page is printed. What it changes is printed.
const prepared = new Set();
export const usePrint = (prepare) => useEffect(() => {
  prepared.add(prepare);
  return () => prepared.delete(prepare);
});
export const prepareToPrint = () => prepared.forEach((prepare) => prepare());
