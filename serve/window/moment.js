// A moment of a thread: the conversation, the state, and the entry that made them so.
import { request, threadPath, withQuery } from "./api.js";
import { bytes } from "./formats.js";
import { count, html, plain, plural, useEffect, useLayoutEffect, useRef, useState, visible } from "./html.js";
import { End } from "./shell.js";
import { JSONText, json, Long, memo, parse, Text, Tree } from "./thread_parts.js";

// save gives the user a file.
export const save = async (path, name) => {
  const url = URL.createObjectURL(await (await request(path)).blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replace(/[^\w.-]+/g, "_").slice(-100);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
};

// maxWhole limits the part of a message that is shown, in UTF-16 units.
const maxWhole = 1 << 20;

// Cut is the beginning of a message that is loaded only if the user wants it.
const Cut = ({ thread, position, index, message }) => {
  const [whole, setWhole] = useState(null);
  const [loading, setLoading] = useState(false);
  const [problem, setProblem] = useState("");
  const path = withQuery(threadPath(thread, "messages", index), { position });
  const load = async () => {
    setLoading(true);
    try {
      setWhole(parse(await (await request(path)).text()));
    } catch (error) {
      setProblem(error.message);
    }
    setLoading(false);
  };
  if (whole) return html`<${Content} content=${whole.content} /><${Calls} calls=${whole.toolCalls} results=${[]} />`;
  return html`<div class="content"><${Text} text=${message.content ?? ""} />…</div>
<p class="more"><button type="button" data-all=${!problem} disabled=${loading} onClick=${load}>Show all (${bytes(message.bytes)})</button> <button type="button" onClick=${() => save(path, "message-" + index + ".json").catch((error) => setProblem(error.message))}>Download</button></p>
${problem && html`<p class="note" role="alert">${problem}</p>`}`;
};

// media describes a part of a message that is not text. It is never loaded.
const media = (part) => {
  const source = part.source !== null && typeof part.source === "object" ? part.source : part;
  const value = [source.value, source.data, source.url].find((v) => typeof v === "string") ?? "";
  const type = [source.mimeType, source.mime_type, part.mimeType].find((v) => typeof v === "string") ?? "";
  const inline = source.type === "data" || (source.type !== "url" && typeof source.data === "string") || value.startsWith("data:");
  return {
    what: typeof part.type === "string" ? part.type : "part",
    type,
    size: inline && value ? "about " + bytes(Math.floor((value.length - (value.indexOf(",") + 1)) * 0.75)) : "",
    place: inline ? "" : value,
    name: typeof part.filename === "string" ? part.filename : "",
  };
};

const Part = ({ part, kept }) => {
  if (part !== null && typeof part === "object" && part.type === "text" && typeof part.text === "string") return html`<div class="content"><${Long} text=${part.text} kept=${kept} /></div>`;
  if (part === null || typeof part !== "object") return html`<${Tree} value=${part} />`;
  const m = media(part);
  return html`<p class="media"><strong><${Text} text=${m.what} breaks=${false} /></strong> ${[m.type, m.name, m.size].filter(Boolean).map((text) => html`<span><${Text} text=${text} breaks=${false} /></span> `)}${m.place && html`<code><${Text} text=${m.place.slice(0, 500)} breaks=${false} /></code>`} <small>not loaded</small></p>`;
};

// Content shows the content of a message: a text, parts, or another value.
const Content = ({ content, kept }) => {
  if (content === undefined || content === null || content === "") return null;
  if (typeof content === "string") {
    return html`<div class="content"><${Long} text=${content.slice(0, maxWhole)} kept=${kept} /></div>${content.length > maxWhole && html`<p class="cut">The rest is not shown here: download it.</p>`}`;
  }
  if (Array.isArray(content)) return content.map((part, i) => html`<${Part} key=${i} part=${part} />`);
  return html`<${Tree} value=${content} label="Content" />`;
};

const nameOf = (call) => (typeof call?.function?.name === "string" ? call.function.name : "");

// Calls shows tool calls, each with its results below it.
const Calls = ({ calls, results, kept, last }) => {
  if (!Array.isArray(calls)) return null;
  return calls.map((call, i) => {
    const text = call?.function?.arguments;
    return html`<div key=${i} class=${last && i === calls.length - 1 ? "call changed" : "call"}>
<p><span class="tag tool">calls</span> <strong><${Text} text=${nameOf(call) || "no name"} breaks=${false} /></strong> ${typeof call?.id === "string" && html`<span class="id"><${Text} text=${call.id} breaks=${false} /></span>`}</p>
${typeof text === "string" ? text && html`<${JSONText} text=${text} kept=${last && i === calls.length - 1 ? kept : undefined} label="Arguments" />` : html`<${Tree} value=${call ?? null} label="Tool call" />`}
${results.filter((r) => r.message.toolCallId === call?.id).map((r) => html`<div key=${r.index} class=${"result " + (r.mark?.change ?? "")} data-index=${r.index}>
<p><span class="tag">result</span>${r.mark && html` <span class="tag keep">${r.mark.change}</span>`}</p>
<${Result} message=${r.message} kept=${r.mark?.change === "changed" ? r.mark.kept : undefined} /></div>`)}
</div>`;
  });
};

// Result shows what a tool returned.
const Result = ({ message, kept }) => html`${
  typeof message.content === "string" ? html`<${JSONText} text=${message.content} kept=${kept} label="Result" />` : html`<${Content} content=${message.content} />`
}${typeof message.error === "string" && message.error && html`<p class="failure"><strong>Error:</strong> <${Text} text=${message.error} /></p>`}`;

const string = (value) => (typeof value === "string" ? value : "");

// Raw shows the JSON of a message.
const Raw = ({ message }) => {
  const [open, setOpen] = useState(false);
  return html`<details class="raw" open=${open} onToggle=${(e) => e.target === e.currentTarget && setOpen(e.currentTarget.open)}><summary>JSON</summary>${open && html`<${Tree} value=${message} label="The message" />`}</details>`;
};

// Message is a message with its place in the list. It is rendered again only if its text, its
// mark or its results changed, which is what sign stands for.
const Message = memo(
  ({ thread, position, index, message, mark, results, cut }) => {
    const role = string(message.role);
    const kept = mark?.change === "changed" ? mark.kept : undefined;
    const called = mark?.of === "arguments";
    const body = cut
      ? html`<${Cut} thread=${thread} position=${position} index=${index} message=${message} />`
      : role === "tool"
        ? html`<${Result} message=${message} kept=${kept} />`
        : html`<${Content} content=${message.content} kept=${called ? undefined : kept} /><${Calls} calls=${message.toolCalls} results=${results} kept=${kept} last=${called} />`;
    const inside = role === "reasoning" ? html`<details class="long"><summary>Reasoning <span class="size">${plural(string(message.content).length, "character", "characters")}</span></summary>${body}</details>` : body;
    const detail = role === "activity" ? string(message.activityType) : role === "tool" ? "answers " + (string(message.toolCallId) || "no call") : "";
    return html`<p class="who"><strong>${role ? html`<${Text} text=${role} breaks=${false} />` : "no role"}</strong>${string(message.name) && html` <span class="name"><${Text} text=${message.name} breaks=${false} /></span>`}${detail && html` <span><${Text} text=${detail} breaks=${false} /></span>`}</p>
<div class="what">${inside}${mark && html`<ul class="chips"><li class="tag keep">${mark.change}</li></ul>`}${string(message.id) && html`<p class="id">id <${Text} text=${message.id} breaks=${false} /></p>`}</div>
<${Raw} message=${message} />`;
  },
  (a, b) => a.sign !== b.sign,
);

// gather makes the list of what is shown from the messages of a moment: results are with the
// tool calls that they answer.
export const gather = ({ list, from, cut }, changed) => {
  // The index of a message that was removed is that of the moment before.
  const marks = new Map(changed.messages.filter((m) => m.change !== "removed").map((m) => [m.index, m]));
  const cuts = new Set(cut);
  const callers = new Map();
  const rows = [];
  list.forEach((message, i) => {
    const row = { index: from + i, message: message ?? {}, mark: marks.get(from + i), cut: cuts.has(from + i), results: [] };
    const caller = row.message.role === "tool" && !row.cut && callers.get(row.message.toolCallId);
    if (caller) {
      caller.results.push(row);
      return;
    }
    rows.push(row);
    if (Array.isArray(row.message.toolCalls) && !row.cut) for (const call of row.message.toolCalls) if (typeof call?.id === "string") callers.set(call.id, row);
  });
  return rows;
};

const sign = (row) => json([row.message, row.mark, row.cut, row.results.map((r) => [r.message, r.mark])]);

// Note says how a run of the conversation ended, if it did not simply finish.
const Note = ({ note }) => html`<li class=${"run-end " + note.end}>
<p><strong>Run <${Text} text=${note.id || "without id"} breaks=${false} /></strong> <${End} end=${note.end} />${note.code && html` <code><${Text} text=${note.code} breaks=${false} /></code>`}</p>
${note.text && html`<p class="content"><${Long} text=${note.text} /></p>`}
${note.asks.map((ask) => html`<div class="ask"><p><span class="tag">asks</span> <strong><${Text} text=${string(ask.interrupt.message) || string(ask.interrupt.reason) || "for an answer"} /></strong></p>
${string(ask.interrupt.toolCallId) && html`<p class="id">about the tool call <${Text} text=${ask.interrupt.toolCallId} breaks=${false} /></p>`}
${ask.answer === undefined ? html`<p class="none">${note.waits ? "It waits for an answer." : "No request answers it."}</p>` : html`<p><span class="tag keep">answer</span> <${Text} text=${string(ask.answer.status) || "answered"} breaks=${false} /></p>${ask.answer.payload !== undefined && html`<${Tree} value=${ask.answer.payload} label="Answer" />`}`}</div>`)}
</li>`;

const near = 24; // pixels

// Missing says on paper what is not loaded, where the page has a button instead.
const Missing = ({ n, which }) => html`<p class="printed none">${plural(n, which + " message is", which + " messages are")} not printed. The button Print of the page prints all messages.</p>`;

// Conversation shows the messages, with the notes behind the messages that they follow.
export const Conversation = memo(({ thread, moment, notes, model }) => {
  const { messages, position } = moment;
  const list = useRef(null);
  const rows = gather(messages, moment.changed);
  const end = messages.from + messages.list.length;
  // A note is behind the last message that there was when its run ended. If that message is not in
  // the conversation any more, only runs count from which the conversation was restored.
  const behind = new Map();
  for (const note of notes) {
    let i = rows.findLastIndex((row) => note.last !== "" && (row.message.id === note.last || row.results.some((r) => r.message.id === note.last)));
    if (i < 0 && (note.count <= messages.from || !moment.used.includes(note.run))) continue;
    if (i < 0) i = rows.findLastIndex((row) => row.index < note.count);
    behind.set(i, [...(behind.get(i) ?? []), note]);
  }
  // What changed first is brought into view, but not if the reader of a thread that goes on has
  // scrolled up.
  const left = useRef(-Infinity);
  useLayoutEffect(() => {
    const first = moment.changed.messages.find((m) => m.change !== "removed");
    const item = first && list.current?.querySelector(`[data-index="${first.index}"]`);
    if (!item || (model.following && scrollY < left.current - near)) return;
    const { top, bottom } = (item.querySelector("mark") ?? item).getBoundingClientRect();
    const slider = document.querySelector(".moment-bar");
    const bar = slider && getComputedStyle(slider).position === "sticky" ? slider.getBoundingClientRect().bottom : 0;
    if (bottom > innerHeight - near) scrollBy(0, Math.min(bottom - innerHeight + near, Math.max(0, top - bar - near)));
    else if (top < bar) scrollBy(0, top - bar - near);
    left.current = scrollY;
  }, [position]);
  const removed = moment.changed.messages.filter((m) => m.change === "removed").length;
  const notesAt = (i) => (behind.get(i) ?? []).map((note) => html`<${Note} key=${"run" + note.run} note=${note} />`);
  return html`<section class="conversation" aria-labelledby="conversation">
<h3 id="conversation">The conversation <small>${plural(messages.count, "message", "messages")}</small></h3>
${messages.from > 0 && html`<p class="more"><button type="button" onClick=${() => model.earlier()}>Show earlier messages (${count.format(messages.from)})</button></p><${Missing} n=${messages.from} which="earlier" />`}
${messages.count === 0 && notes.length === 0 && html`<p class="none">There are no messages yet.</p>`}
<ol class="messages" ref=${list} start=${messages.from + 1} aria-labelledby="conversation">
${notesAt(-1)}
${rows.map((row, i) => [
    html`<li key=${row.index + ":" + string(row.message.id)} class=${"message" + (row.mark ? " " + row.mark.change : "")} data-index=${row.index}><${Message} thread=${thread} position=${position} index=${row.index} message=${row.message} mark=${row.mark} results=${row.results} cut=${row.cut} sign=${sign(row) + (row.cut ? position : "")} /></li>`,
    ...notesAt(i),
  ])}
</ol>
${removed > 0 && html`<p class="note">${plural(removed, "message was", "messages were")} removed here.</p>`}
${end < messages.count && html`<p class="more"><button type="button" onClick=${() => model.later()}>Show later messages (${count.format(messages.count - end)})</button></p><${Missing} n=${messages.count - end} which="later" />`}
</section>`;
});

// Value is a value before or after a change.
const Value = ({ of, name, cut }) => (Object.hasOwn(of, name) ? html`<code><${Text} text=${json(of[name])} breaks=${false} /></code>` : html`<small>${cut ? "not shown, it is large" : "nothing"}</small>`);

// Changes lists what the entry changed in the state.
const Changes = ({ changed }) => {
  if (changed.state.length === 0) return null;
  return html`<h4>Changed here</h4><ul class="changes" aria-label="Changed places">${changed.state.map((c) => html`<li key=${c.pointer} class=${c.change}><code class="k"><${Text} text=${c.pointer || "the whole state"} breaks=${false} /></code> <span class="tag keep">${c.change}</span>
<span class="was"><${Value} of=${c} name="before" cut=${c.cut} /> → <${Value} of=${c} name="after" cut=${c.cut} /></span></li>`)}</ul>${changed.more > 0 && html`<p class="cut">${plural(changed.more, "more change is", "more changes are")} not listed.</p>`}`;
};

// State shows the state as a tree, in which the changed places are marked.
export const State = memo(({ thread, moment }) => {
  const [whole, setWhole] = useState(null);
  const [problem, setProblem] = useState("");
  useEffect(() => setWhole(null), [moment.position, moment.state_cut]);
  const path = withQuery(threadPath(thread, "state"), { position: moment.position });
  const marks = moment.changed.state.filter((c) => c.change !== "removed").map(({ pointer, change }) => ({ pointer, change }));
  const load = async () => {
    try {
      setWhole({ value: parse(await (await request(path)).text()) });
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`<section aria-labelledby="state"><h3 id="state">The state <small>${bytes(moment.state_bytes)}${moment.state_known ? "" : ", not known: it has only what patches made"}</small></h3>
<${Changes} changed=${moment.changed} />
${moment.state_cut && !whole
    ? html`<p class="more"><button type="button" onClick=${load}>Show the state (${bytes(moment.state_bytes)})</button> <button type="button" onClick=${() => save(path, "state.json").catch((error) => setProblem(error.message))}>Download</button></p>`
    : html`<${Tree} value=${whole ? whole.value : moment.state} marks=${marks} label="State" />`}
${problem && html`<p class="note" role="alert">${problem}</p>`}</section>`;
});

// words names the kinds of entries.
const words = new Map([["event", "an event"], ["input", "a request"], ["closing", "an event that the server added"], ["end", "the end of a stream"]]);

// Entry shows the exact text of the entry, and what is said about it.
export const Entry = memo(({ thread, moment }) => {
  const [problem, setProblem] = useState("");
  const { entry, position } = moment;
  const path = threadPath(thread, "entries", position);
  return html`<section aria-labelledby="entry"><h3 id="entry">The entry <small>${words.get(entry.kind) ?? plain(entry.kind)}, from the ${plain(entry.origin)}, ${bytes(entry.bytes)}</small></h3>
${entry.text ? html`<pre class="exact" tabindex="0" aria-label="The exact text">${visible(entry.text, true)}</pre>` : html`<p class="none">It has no text.</p>`}
${entry.cut && html`<p class="cut">The rest is not shown here.</p>`}
<p class="more"><button type="button" onClick=${() => save(path, "entry-" + position + ".json").catch((error) => setProblem(error.message))}>Download the bytes</button></p>
${problem && html`<p class="note" role="alert">${problem}</p>`}
${moment.pending_tool_calls.length > 0 && html`<p>Tool calls without a result: ${moment.pending_tool_calls.map((id) => html`<code><${Text} text=${id} breaks=${false} /></code> `)}</p>`}
${moment.findings.length > 0 && html`<details><summary>${plural(moment.findings.length, "warning", "warnings")} about this conversation</summary><ul class="findings">${moment.findings.map((f) => html`<li class=${f.severity}><span class="severity">${f.severity}</span> <${Text} text=${f.message} breaks=${false} /> <span class="tag">${f.code}</span></li>`)}</ul></details>`}</section>`;
});
