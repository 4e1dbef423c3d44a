import { html, useEffect, useRef } from "./html.js";

const lists = [
  ["On every page", [[["?"], "show these keys"], [["Tab"], "go to the next link, button or field"]]],
  ["In the list of threads", [[["/"], "search"], [["j", "↓"], "next thread"], [["k", "↑"], "previous thread"], [["Home", "End"], "first or last thread"], [["Enter"], "open the thread"], [["Esc"], "in the search: clear it"]]],
  ["In a thread", [[["←", "→"], "previous or next event"], [["Shift ←", "Shift →"], "previous or next message"], [["Ctrl ←", "Ctrl →"], "previous or next run (Alt on a Mac)"], [["Home", "End"], "first position, or the last, where the page follows the thread"]]],
];

// Help lists the keys in a dialog.
export const Help = ({ close }) => {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog ref=${dialog} class="help" aria-labelledby="help" onClose=${close}>
<h2 id="help">Keys</h2>
${lists.map(([name, keys]) => html`<h3>${name}</h3>
<dl>${keys.map(([names, does]) => html`<div><dt>${names.map((k) => html`<kbd>${k}</kbd> `)}</dt><dd>${does}</dd></div>`)}</dl>`)}
<button type="button" onClick=${() => dialog.current.close()}>Close</button>
</dialog>`;
};
