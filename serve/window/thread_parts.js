// The parts from which the page of a thread is made.
import { Component } from "preact";
import { count, html, plural, useState, visible } from "./html.js";
import { usePrint } from "./shell.js";

// memo returns a component that is rendered again only if its properties differ from those
// before. By default, one of them has to be another value.
export const memo = (view, differs = (a, b) => [...new Set([...Object.keys(a), ...Object.keys(b)])].some((key) => !Object.is(a[key], b[key]))) =>
  class extends Component {
    shouldComponentUpdate(next) {
      return differs(this.props, next);
    }
    render(properties) {
      return view(properties);
    }
  };

// exact matches what can be a number that JavaScript would change.
const exact = /[:[,]\s*-?(?:[\d.]{16}|0\.000000|\d+(?:\.\d+)?[eE]|\d+\.\d*0\s*[,\]}])|[:[,]\s*-0\s*[,\]}]/;

// parse reads JSON. Numbers that JavaScript would change keep their text, where the browser
// can do that.
export const parse = (text) => {
  if (!JSON.rawJSON || !exact.test(text)) return JSON.parse(text);
  return JSON.parse(text, (key, value, { source }) => (typeof value === "number" && String(value) !== source ? JSON.rawJSON(source) : value));
};

// json returns the JSON text of a value, or "" if it is nested too deeply.
export const json = (value) => {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
};

const same = (a, b) => Object.is(a, b) || (typeof a === "object" && typeof b === "object" && json(a) !== "" && json(a) === json(b));

const otherValue = (a, b) => Object.keys(b).some((key) => !same(a[key], b[key]));

// Text is a text in which every character is visible. What follows its first kept units is
// marked, if kept is not undefined.
export const Text = memo(({ text, breaks = true, kept }) => {
  if (kept === undefined || kept >= text.length) return visible(text, breaks);
  const inside = kept > 0 && /^[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(kept - 1, kept + 1)); // a pair is not split
  const at = inside ? kept - 1 : kept;
  return [visible(text.slice(0, at), breaks), html`<mark>${visible(text.slice(at), breaks)}</mark>`];
});

// after formats the time from a start, both in microseconds.
export const after = (us) => (us < 0 ? "−" : "+") + (Math.abs(us) / 1e6).toFixed(3) + " s";

// textual is the length from which a text is folded, and glimpse what is shown of it.
const textual = 4000;
const glimpse = 1000;

// Folded is a long text of which only a part is shown, until it is opened or printed.
const Folded = ({ text, kept }) => {
  const [open, setOpen] = useState(false);
  usePrint(() => setOpen(true));
  if (open) return html`<${Text} text=${text} kept=${kept} />`;
  const tail = kept === undefined || kept >= text.length ? text.length : Math.max(glimpse, kept - 200);
  return html`<${Text} text=${text.slice(0, glimpse)} kept=${kept < glimpse ? kept : undefined} />${
    tail < text.length ? html` … <${Text} text=${text.slice(tail, tail + textual)} kept=${Math.max(0, kept - tail)} />` : null
  }… <button type="button" class="copy" data-all onClick=${() => setOpen(true)}>Show all (${plural(text.length, "character", "characters")})</button>`;
};

// Long is a text that is folded if it is long. If it is marked, the marked part is shown.
export const Long = memo(({ text, kept }) => html`<${text.length <= textual ? Text : Folded} text=${text} kept=${kept} />`);

// part is how many members of a value are shown at first.
const part = 100;

// deepest is the level to which a changed place opens a tree. Each open level takes a part of the
// browser's stack.
const deepest = 50;

const escape = (key) => String(key).replaceAll("~", "~0").replaceAll("/", "~1");

const isRaw = (value) => Boolean(JSON.isRawJSON?.(value));

const Scalar = ({ value }) => {
  if (typeof value === "string") return html`"<${Long} text=${value} />"`;
  return html`<span class="scalar">${isRaw(value) ? value.rawJSON : String(value)}</span>`;
};

// Node is a value of a tree. Marks are the changed places at or below it.
const Node = memo(({ name, value, pointer, marks, level }) => {
  const [chosen, setChosen] = useState(null);
  const [limit, setLimit] = useState(part);
  const mark = marks.find((m) => m.pointer === pointer);
  const label = [
    name === undefined ? null : html`<span class="k"><${Text} text=${String(name)} breaks=${false} /></span>: `,
    mark && html`<span class="sr">${mark.change}: </span>`,
  ];
  const class_ = mark ? mark.change : undefined;
  const keys = value !== null && typeof value === "object" && !isRaw(value) ? Object.keys(value) : [];
  if (keys.length === 0) {
    const text = Array.isArray(value) ? "[]" : value !== null && typeof value === "object" && !isRaw(value) ? "{}" : html`<${Scalar} value=${value} />`;
    return html`<li class=${class_}>${label}${text}</li>`;
  }
  const inside = marks.filter((m) => m.pointer.startsWith(pointer + "/"));
  const open = chosen ?? (level === 0 || (inside.length > 0 && level < deepest) || (level < 3 && keys.length <= 20));
  const size = Array.isArray(value) ? "[" + count.format(keys.length) + "]" : "{" + count.format(keys.length) + "}";
  return html`<li class=${class_}><details open=${open} onToggle=${(e) => e.target === e.currentTarget && e.currentTarget.open !== open && setChosen(e.currentTarget.open)}>
    <summary>${label}<span class="size">${size}</span></summary>
    ${open && html`<ul class=${level > 12 ? "flat" : ""}>
      ${keys.slice(0, limit).map((key) => html`<${Node} key=${key} name=${key} value=${value[key]} pointer=${pointer + "/" + escape(key)} marks=${inside.filter((m) => (m.pointer + "/").startsWith(pointer + "/" + escape(key) + "/"))} level=${level + 1} />`)}
      ${keys.length > limit && html`<li><button type="button" class="copy" onClick=${() => setLimit(limit + part)}>Show ${count.format(Math.min(part, keys.length - limit))} more of ${count.format(keys.length - limit)}</button></li>`}
    </ul>`}
  </details></li>`;
}, otherValue);

// Tree shows a JSON value. Marks are places that changed, with pointer and change.
export const Tree = ({ value, marks = [], label }) => html`<ul class="tree" aria-label=${label}><${Node} value=${value} pointer="" marks=${marks} level=${0} /></ul>`;

// JSONText shows a text as a tree if it is JSON, and otherwise as it is.
export const JSONText = memo(({ text, kept, label }) => {
  let value;
  try {
    value = parse(text);
  } catch {
    // it is not JSON, or not all of it yet
  }
  if (value === null || typeof value !== "object") return html`<pre><${Long} text=${text} kept=${kept} /></pre>`;
  return html`<${Tree} value=${value} label=${label} />`;
});

// Rows is a list of many rows of one height, in pixels. Only those that can be seen exist.
// render makes the contents of a row; current is the row to which the list moves, or -1.
export class Rows extends Component {
  state = { top: 0 };
  componentDidMount() {
    this.move();
  }
  componentDidUpdate(before) {
    if (before.current !== this.props.current) this.move();
  }
  // move scrolls to the current row if it cannot be seen.
  move() {
    const { current, height } = this.props;
    const box = this.box;
    if (current < 0 || !box) return;
    if (current * height < box.scrollTop || (current + 1) * height > box.scrollTop + box.clientHeight) box.scrollTop = Math.max(0, current * height - box.clientHeight / 2);
  }
  render({ total, height, render, label, current }, { top }) {
    const seen = 24; // more than there is room for
    const first = Math.max(0, Math.min(Math.floor(top / height) - 4, total - seen - 8));
    const list = [];
    for (let i = first; i < Math.min(total, first + seen + 8); i++) list.push(html`<li key=${i} aria-setsize=${total} aria-posinset=${i + 1} aria-current=${i === current ? "true" : undefined}>${render(i)}</li>`);
    const space = (n) => html`<li role="presentation" ref=${(e) => e && (e.style.height = n * height + "px")}></li>`;
    return html`<ol class="virtual" tabindex="0" aria-label=${label} ref=${(e) => (this.box = e)} onScroll=${(e) => this.setState({ top: e.currentTarget.scrollTop })}>
      ${first > 0 && space(first)}${list}${first + list.length < total && space(total - first - list.length)}
    </ol>`;
  }
}
