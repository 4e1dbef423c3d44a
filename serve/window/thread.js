// The page of a thread.
import { html, count, plain, plural, useCallback, useEffect, useMemo, useRef, useState, visible } from "./html.js";
import { bytes } from "./formats.js";
import { address, announce, End, endWord, Failure } from "./shell.js";
import { Actions, Cancel, CopyLink } from "./actions.js";
import { Entries, RunFacts, Runs, useFacts } from "./facts.js";
import { Conversation, Entry, State } from "./moment.js";
import { Model } from "./thread_model.js";
import { useNotes } from "./thread_notes.js";
import { after, Text } from "./thread_parts.js";

// Time in milliseconds after which the address has the position.
const settle = 300;

// useModel returns the model of a thread. The page is rendered when it changes.
const useModel = (thread, at, go) => {
  const [, render] = useState(0);
  const model = useMemo(() => new Model(thread, () => render((n) => n + 1)), [thread]);
  const shown = useRef(at);
  useEffect(() => {
    model.open(at);
    return () => model.close();
  }, [model]);
  // The address follows the model, and the model an address that somebody else changed.
  const wanted = model.following ? undefined : model.target || undefined;
  useEffect(() => {
    if (at === shown.current) return;
    shown.current = at;
    if (at === undefined) model.follow();
    else model.jump(at);
  }, [at]);
  useEffect(() => {
    if (wanted === shown.current) return undefined;
    const write = () => {
      const replace = !model.pushed;
      model.pushed = false;
      shown.current = wanted;
      go({ thread, at: wanted }, { replace });
    };
    if (model.pushed) {
      write();
      return undefined;
    }
    const timer = setTimeout(write, settle);
    return () => clearTimeout(timer);
  }, [wanted]);
  return model;
};

// since returns the time from the beginning of the run to an entry, or "".
const since = (model, position) => {
  const { index } = model;
  if (!index.has(position)) return "";
  const us = index.arrived(position) - index.arrived(index.run(position) || 1);
  return Number.isNaN(us) ? "" : after(us);
};

// type returns the type of an entry, or its kind if it has none.
const type = ({ index }, position) => (index.has(position) ? plain(index.type(position) || index.kind(position)) : "");

// describe says in words which position it is.
const describe = (model, position) => ["position " + count.format(position) + " of " + count.format(model.last), type(model, position), since(model, position)].filter(Boolean).join(", ");

// named is how many changes are described, each with at most so many characters of its place.
const named = 3, placeLength = 80;

// describeChanges says in words what the entry of a moment changed.
const describeChanges = ({ changed, messages }) => {
  const role = (i) => messages.list[i - messages.from]?.role;
  const all = [
    ...changed.messages.map((m) => ["message " + count.format(m.index + 1), m.change !== "removed" && typeof role(m.index) === "string" && plain(role(m.index)), m.change].filter(Boolean).join(" ")),
    ...changed.state.map((s) => "state " + plain(s.pointer.slice(0, placeLength)) + " " + s.change),
  ];
  const more = all.length + changed.more - named;
  return (all.slice(0, named).join(", ") || "nothing changed") + (more > 0 ? " and " + plural(more, "more change", "more changes") : "");
};

const states = { wait: "Connecting", on: "Live", lost: "The connection was lost. The page tries again", over: "Not live" };

// Bar has the slider and the buttons with which the reader moves through the thread.
const Bar = ({ model }) => {
  const { position, last, moment } = model;
  // A button that is disabled would lose the focus.
  const button = (label, keys, text, unit, n, off) => html`<button type="button" aria-label=${label} title=${label + " (" + keys + ")"} aria-disabled=${off} onClick=${() => off || model.step(unit, n)}>${text}</button>`;
  const first = position <= 1;
  const end = position >= last;
  const news = model.following || !moment ? 0 : last - moment.last;
  return html`<section class="moment-bar" aria-label="The moment">
<div class="slider">
${button("Previous run", runKey + " ←", "‹‹‹", "run", -1, first)}${button("Previous message", "Shift ←", "‹‹", "message", -1, first)}${button("Previous event", "←", "‹", "event", -1, first)}
<input type="range" id="slider" min="1" max=${Math.max(1, last)} step="1" value=${position} aria-label="Position in the thread" aria-valuetext=${describe(model, position)} onInput=${(e) => model.jump(Number(e.currentTarget.value))} />
${button("Next event", "→", "›", "event", 1, end && model.following)}${button("Next message", "Shift →", "››", "message", 1, end && model.following)}${button("Next run", runKey + " →", "›››", "run", 1, end && model.following)}
</div>
<p class="where"><span class="at">${count.format(position)} <small>of ${count.format(last)}</small></span> <span class=${"type"}>${type(model, position)}</span> <span>${since(model, position)}</span>
${moment?.run && html`<span>run <code><${Text} text=${moment.run.run_id || "without id"} breaks=${false} /></code> <${End} end=${moment.run.end} /></span>`}
<span class="live">${model.live === "on" ? (model.following ? html`<b class="on">Live</b>` : html`Not following${news > 0 ? ", " + plural(news, "new entry", "new entries") : ""} <button type="button" class="copy" onClick=${() => model.follow()}>Follow</button>`) : states[model.live]}</span></p>
</section>`;
};

// The keys for runs are those that a browser does not use itself.
const apple = /Mac|iPhone|iPad/.test(navigator.platform);
const runKey = apple ? "Alt" : "Ctrl";

// useMoves moves through the thread with keys that are pressed outside of fields.
const useMoves = (model) =>
  useEffect(() => {
    const pressed = (e) => {
      const field = e.target.closest?.("input:not([type=range]), select, textarea, dialog, [contenteditable]");
      if (e.defaultPrevented || e.metaKey || field) return;
      const run = apple ? e.altKey && !e.ctrlKey : e.ctrlKey && !e.altKey;
      const bare = !e.altKey && !e.ctrlKey;
      if (!run && !bare) return;
      const n = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
      if (n && run) model.step("run", n);
      else if (n) model.step(e.shiftKey ? "message" : "event", n);
      else if (bare && e.key === "Home") model.jump(1);
      else if (bare && e.key === "End") model.follow();
      else return;
      e.preventDefault();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [model]);

// Fold is a part of the page that is made when it is opened.
const Fold = ({ title, open, set, children }) => html`<details class="folded" open=${open} onToggle=${(e) => e.target === e.currentTarget && e.currentTarget.open !== open && set(e.currentTarget.open)}><summary><h3>${title}</h3></summary>${open && children}</details>`;

// useAnnouncements says politely what a reader cannot see, once it is settled: where the page is
// when it opens and after each move, and what the entry changed. The slider says its position by
// itself. The positions of a thread that goes on are not said.
const useAnnouncements = (model) => {
  const before = useRef(null);
  const { live, following, moment } = model;
  const end = moment?.run ? endWord(moment.run.end) : "";
  const position = following ? undefined : moment?.position;
  useEffect(() => {
    const say = () => {
      if (!moment) return;
      const was = before.current;
      before.current = { live, following, end, position };
      const words = [];
      if (!was) words.push(describe(model, moment.position) + ".", end && "The run: " + end + ".");
      else if (was.live !== live || was.following !== following) {
        if (live === "on" && (was.live !== "wait" || was.following !== following)) words.push(following ? "Live. The page follows the thread." : "The page stopped following the thread.");
        else if (live === "lost") words.push(states.lost + ".");
      } else if (following && was.end && end && was.end !== end) words.push("The run: " + end + ".");
      if (was && was.position !== position && moment.position === model.position) {
        words.push(document.activeElement?.id !== "slider" && describe(model, moment.position) + ":", describeChanges(moment) + ".");
      }
      const text = words.filter(Boolean).join(" ");
      if (text) announce(text);
    };
    const timer = setTimeout(say, settle);
    return () => clearTimeout(timer);
  }, [Boolean(moment), live, following, following && end, position]);
};

// unfold shows all of the long texts of the conversation.
const unfold = async () => {
  for (;;) {
    await new Promise(requestAnimationFrame);
    const folded = [...document.querySelectorAll(".conversation [data-all]")];
    if (folded.length === 0) return;
    for (const button of folded) button.click();
    await new Promise((done) => setTimeout(done, 50));
  }
};

// useFolds opens what is folded in the conversation while it is printed.
const useFolds = () =>
  useEffect(() => {
    let opened = [];
    const before = () => {
      opened = [...document.querySelectorAll(".conversation details.long:not([open])")];
      for (const details of opened) details.open = true;
    };
    const after = () => opened.forEach((details) => (details.open = false));
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    return () => {
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
    };
  }, []);

export const ThreadPage = ({ thread, at, session, go }) => {
  const model = useModel(thread, at, go);
  useMoves(model);
  useAnnouncements(model);
  useFolds();
  const wide = useMemo(() => matchMedia("(min-width: 60rem)").matches, []);
  const [open, setOpen] = useState({ facts: wide, entries: false, actions: false });
  const set = (name) => (value) => setOpen((o) => ({ ...o, [name]: value }));
  const { moment, problem } = model;
  const run = moment?.run;
  const live = run?.end === "open";
  const facts = useFacts(thread, run, open.facts || open.actions);
  const notes = useNotes(thread, model);
  const [printing, setPrinting] = useState(false);
  const print = useCallback(async () => {
    setPrinting(true);
    try {
      if (await model.all()) {
        await unfold();
        window.print();
      }
    } catch (error) {
      model.fail(error);
    }
    setPrinting(false);
  }, [model]);
  const href = new URL(address({ thread, at: model.position }), document.baseURI).href;
  return html`<article class="thread" data-position=${moment?.position} data-last=${model.last} data-indexed=${model.index.last} data-runs=${model.runs?.runs.length}>
<h2>${visible(thread)}</h2>
${moment && html`<p class="word">${plural(model.last, "entry", "entries")}, ${model.index.last < model.last ? "" : bytes(model.index.total) + ", "}${plural(model.index.runs.length, "run", "runs")}${model.runs && (model.runs.sealed > 0 ? ", sealed up to position " + count.format(model.runs.sealed) : ", not sealed")}</p>`}
<p class="buttons"><${CopyLink} href=${href} /> <button type="button" disabled=${!moment || printing} onClick=${print}>${printing ? "Loading all messages" : "Print"}</button></p>
${problem && html`<${Failure} problem=${problem} retry=${() => model.retry()} />`}
${!moment && !problem && html`<p class="none">Loading</p>`}
${moment && html`<${Bar} model=${model} />
${live && session.may.cancel && run.run_id && html`<${Cancel} key=${run.position} thread=${thread} run=${run} model=${model} />`}
<div class="columns">
<div class="left">
<${Conversation} thread=${thread} moment=${moment} notes=${notes} model=${model} />
</div>
<div class="right">
<${Entry} thread=${thread} moment=${moment} />
<${State} thread=${thread} moment=${moment} />
<${Runs} model=${model} runs=${model.runs} indexed=${model.index.last} run=${run?.position} />
</div>
</div>
<${Fold} title="The run, event by event" open=${open.facts} set=${set("facts")}><${RunFacts} model=${model} moment=${moment} facts=${facts} indexed=${model.index.last} /><//>
<${Fold} title="Entries" open=${open.entries} set=${set("entries")}><${Entries} model=${model} moment=${moment} indexed=${model.index.last} /><//>
<${Fold} title="Copy, download and continue" open=${open.actions} set=${set("actions")}><${Actions} thread=${thread} moment=${moment} facts=${facts} session=${session} model=${model} /><//>`}
</article>`;
};
