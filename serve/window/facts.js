// Facts about a thread: its runs and branches, the picture of a run, and the list of entries.
import { request, threadPath, withQuery } from "./api.js";
import { bytes, duration } from "./formats.js";
import { count, html, plural, useEffect, useMemo, useState } from "./html.js";
import { End } from "./shell.js";
import { family, origin } from "./thread_index.js";
import { after, memo, parse, Rows, Text, Tree } from "./thread_parts.js";

const rowHeight = 28; // in pixels, as in thread.css
const laneWidth = 14;
const maxLanes = 12; // branches that are drawn next to each other

// layout gives each branch a lane: the first that is free from the run that the branch leaves to
// its own last run. If none is, the branch shares the last lane, from its own first run on.
const layout = ({ runs, branches }) => {
  const free = []; // by lane: the number of the run from which it is free
  const lanes = new Map();
  const lines = runs.map(() => []);
  for (const b of [...branches].sort((x, y) => x.first - y.first)) {
    let lane = free.findIndex((from) => from <= (b.from ?? b.first));
    let first = b.from ? b.from + 1 : b.first;
    if (lane < 0 && free.length === maxLanes) {
      lane = maxLanes - 1;
      first = b.first;
    } else if (lane < 0) lane = free.length;
    free[lane] = Math.max(free[lane] ?? 0, b.last + 1);
    lanes.set(b.number, lane);
    for (let n = first; n <= b.last; n++) {
      lines[n - 1].push({ lane, top: n > b.first || b.from !== null, bottom: n < b.last, bend: b.from !== null && n === b.from + 1 ? lanes.get(runs[b.from - 1].branch) : lane });
    }
  }
  return { lanes, lines, width: (Math.max(0, ...new Set(lanes.values())) + 1) * laneWidth };
};

const Lanes = ({ lines, lane, width, end }) => html`<svg aria-hidden="true" width=${width} height=${rowHeight}>
${lines.map((l) => {
    const x = l.lane * laneWidth + laneWidth / 2;
    const from = l.bend * laneWidth + laneWidth / 2;
    const middle = rowHeight / 2;
    return html`${l.top && html`<path d=${`M${from} 0C${from} ${middle / 2} ${x} ${middle / 2} ${x} ${middle}`} />`}${l.bottom && html`<path d=${`M${x} ${middle}V${rowHeight}`} />`}`;
  })}
<circle class=${"end-" + end} cx=${lane * laneWidth + laneWidth / 2} cy=${rowHeight / 2} r="4" /></svg>`;

const micros = (time) => (time ? Date.parse(time) * 1000 : NaN);

// Runs is the graph of the runs, of which one is the current one. A click goes to the end of a run.
export const Runs = memo(({ model, runs, run }) => {
  const graph = useMemo(() => runs && layout(runs), [runs]);
  if (!runs) return null;
  const current = runs.runs.findIndex((r) => r.position === run);
  const render = (i) => {
    const r = runs.runs[i];
    const lasted = micros(r.last_at) - micros(r.started_at);
    const end = model.index.end(r.position);
    return html`<button type="button" class="run-row" disabled=${end === undefined} onClick=${() => model.jump(end, true)}>
<${Lanes} lines=${graph.lines[i]} lane=${graph.lanes.get(r.branch)} width=${graph.width} end=${r.end} />
<span class="num"><span class="sr">Run </span>${r.number}</span> <span class="id"><${Text} text=${r.run_id || "no id"} breaks=${false} /></span> <span class="agent">${r.agent && html`<${Text} text=${r.agent} breaks=${false} />`}</span> <${End} end=${r.end} /> <span class="num">${lasted >= 0 ? duration(lasted) : ""}</span><span class="sr">${r.parent && r.parent !== i ? ", continues run " + r.parent : ""}${runs.branches.length > 1 ? ", branch " + r.branch : ""}</span></button>`;
  };
  return html`<section aria-labelledby="runs"><h3 id="runs">Runs <small>${plural(runs.runs.length, "run", "runs")}${runs.branches.length > 1 ? " in " + plural(runs.branches.length, "branch", "branches") : ""}</small></h3>
${runs.runs.length === 0 ? html`<p class="none">No run has begun.</p>` : html`<${Rows} total=${runs.runs.length} height=${rowHeight} render=${render} label="Runs" current=${current} />`}</section>`;
});

// scale maps positions or times to x coordinates as the picture of the server has them.
const stretches = 256;
const border = 1;
const scale = (first, last) => {
  let width = 1;
  while (Math.floor((last - first) / width) >= stretches) width *= 2;
  const slot = (100 - 2 * border) / (Math.floor((last - first) / width) + 1);
  return (at) => border + (Math.floor((at - first) / width) + 0.5) * slot;
};

// Marks are the events of a run in its picture.
const Marks = memo(({ picture, bottom }) => html`${picture.ticks.map((t) => html`<line class="tick" x1=${t.x + "%"} x2=${t.x + "%"} y1="0" y2=${bottom} /><text x=${t.x + "%"} y=${bottom + 18}>${t.label}</text>`)}
${picture.lanes.map((l) => html`<g key=${l.family} class=${l.family}><line x1="0" x2="100%" y1=${l.y} y2=${l.y} />${l.marks.map(([x, width]) => html`<rect x=${x + "%"} y=${l.y - 6} width=${width + "%"} height="12" />`)}</g>`)}`);

// Picture shows when the events of a run arrived. A click goes to the nearest event.
const Picture = ({ picture, model, run, position, indexed }) => {
  const places = useMemo(() => {
    const positions = model.index.of((at) => model.index.run(at) === run);
    let latest = -Infinity;
    const values = positions.map((at) => (latest = picture.by === "time" ? Math.max(latest, model.index.arrived(at)) : at));
    const x = values.length > 0 ? scale(values[0], values[values.length - 1]) : () => 0;
    return { positions, xs: values.map(x) };
  }, [picture, run, indexed]);
  const { positions, xs } = places;
  const now = positions.findLastIndex((at) => at <= position);
  const click = (e) => {
    const box = e.currentTarget.getBoundingClientRect();
    const x = (100 * (e.clientX - box.left)) / box.width;
    const lane = picture.lanes[Math.floor((e.clientY - box.top) / 24)];
    let best = -1;
    xs.forEach((at, i) => {
      if (lane && family(model.index.type(positions[i])) !== lane.family) return;
      if (best < 0 || Math.abs(at - x) < Math.abs(xs[best] - x)) best = i;
    });
    if (best >= 0) model.jump(positions[best], true);
  };
  const bottom = picture.height - 24;
  return html`<figure class="picture"><ul class="lanes">${picture.lanes.map((l) => html`<li key=${l.family} class=${l.family}>${l.name} <span class="count">${count.format(l.count)}</span></li>`)}</ul>
<svg role="img" class="to-click" height=${picture.height} onClick=${click} aria-label=${picture.by === "time" ? "When the events of each family arrived" : "The events of each family, in their order"}>
<${Marks} picture=${picture} bottom=${bottom} />
${now >= 0 && html`<line class="now" x1=${xs[now] + "%"} x2=${xs[now] + "%"} y1="0" y2=${bottom} />`}
</svg>
<figcaption>${picture.by === "order" ? "In the order of the events, as their times of arrival are not known." : "The axis is the time since the request was sent" + (picture.first_us === null ? ", or since the first event." : ". The first event came after " + duration(picture.first_us) + ".")}${now >= 0 ? " The line marks the position." : ""}</figcaption></figure>`;
};

// tokens adds the numbers of the usage objects by name.
const tokens = (usage) => {
  const sums = new Map();
  for (const one of Array.isArray(usage) ? usage : []) {
    for (const [name, n] of Object.entries(one ?? {})) if (typeof n === "number") sums.set(name, (sums.get(name) ?? 0) + n);
  }
  return [...sums];
};

// RunFacts shows what the log says about the run of the moment.
export const RunFacts = memo(({ model, moment, facts, indexed }) => {
  const run = moment.run?.position;
  if (!run) return html`<p class="none">This entry belongs to no run.</p>`;
  if (facts?.problem) return html`<p class="note">${facts.problem}</p>`;
  if (!facts) return html`<p class="none">Loading</p>`;
  const used = tokens(facts.usage);
  return html`<${Picture} picture=${facts.picture} model=${model} run=${run} position=${moment.position} indexed=${indexed} />
<dl class="facts">
<div><dt>Run</dt><dd><code><${Text} text=${facts.run_id || "no id"} breaks=${false} /></code></dd></div>
${facts.agent && html`<div><dt>Agent</dt><dd><${Text} text=${facts.agent} breaks=${false} /></dd></div>`}
<div><dt>Duration</dt><dd>${facts.duration_us === null ? "not known" : duration(facts.duration_us)}</dd></div>
<div><dt>Events</dt><dd>${plural(facts.events, "event", "events")}, ${bytes(facts.bytes)}</dd></div>
<div><dt>Tokens</dt><dd>${used.length > 0 ? used.map(([name, n], i) => html`${i > 0 && ", "}<${Text} text=${name} breaks=${false} /> ${count.format(n)}`) : "the agent reported none"}</dd></div>
</dl>
${facts.usage && html`<details><summary>Usage as the agent sent it</summary><${Tree} value=${facts.sent} label="Usage" /></details>`}
<ul class="families" aria-label="Events by type">${facts.types.map((t) => html`<li class=${t.family}><${Text} text=${t.type ?? "not an event"} breaks=${false} /> <span class="count">${count.format(t.count)}</span></li>`)}</ul>
${facts.findings.length > 0 && html`<h4>Findings</h4><ul class="findings">${facts.findings.map((f) => html`<li class=${f.severity}><span class="severity">${f.severity}</span> <${Text} text=${f.message} breaks=${false} /> <span class="tag">${f.code}</span> ${f.position && html`<button type="button" class="copy" onClick=${() => model.jump(f.position, true)}>Go to position ${count.format(f.position)}</button>`}${f.next && html`<p class="next"><${Text} text=${f.next} breaks=${false} /></p>`}</li>`)}</ul>`}
${facts.findings_more > 0 && html`<p class="cut">${plural(facts.findings_more, "more finding is", "more findings are")} not shown.</p>`}`;
});

// read reads the facts of a run. Besides, sent is the usage with the exact numbers of the agent.
const read = async (thread, run, signal) => {
  const text = await (await request(withQuery(threadPath(thread, "facts"), { run }), { signal })).text();
  return { ...JSON.parse(text), sent: parse(text).usage };
};

// useFacts loads the facts of a run if they are wanted, and again now and then while it goes on.
const pause = 5000;
export const useFacts = (thread, run, wanted) => {
  const [facts, setFacts] = useState(null);
  const position = run?.position;
  useEffect(() => {
    if (!position || !wanted) return undefined;
    const stop = new AbortController();
    let timer;
    const load = async () => {
      try {
        setFacts(await read(thread, position, stop.signal));
      } catch (error) {
        if (!stop.signal.aborted) setFacts({ run: position, problem: error.message });
      }
      if (run.end === "open" && !stop.signal.aborted) timer = setTimeout(load, pause);
    };
    void load();
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [thread, position, run?.end, wanted]);
  return facts?.run === position ? facts : null;
};

const families = [["", "all entries"], ["run", "Run"], ["text", "Text"], ["reasoning", "Reasoning"], ["tool", "Tools"], ["state", "State"], ["activity", "Activity"], ["snapshot", "Snapshot"], ["other", "Other"], ["bad", "without a type"]];

// Entries lists the entries of the thread.
export const Entries = ({ model, moment, indexed }) => {
  const [chosen, setChosen] = useState("");
  const { index } = model;
  const positions = useMemo(() => (chosen ? index.of((at) => family(index.type(at)) === chosen) : null), [index, indexed, chosen]);
  const total = positions ? positions.length : index.last;
  const position = (i) => (positions ? positions[i] : i + 1);
  const current = positions ? positions.findLastIndex((at) => at <= moment.position) : moment.position - 1;
  const render = (i) => {
    const at = position(i);
    const type = index.type(at);
    const since = index.arrived(at) - index.arrived(index.run(at) || 1);
    return html`<button type="button" class="entry-row" onClick=${() => model.jump(at, true)}><span class="at num">${count.format(at)}</span> <span class=${"type " + family(type)}><${Text} text=${type || index.kind(at)} breaks=${false} /></span> <span class="origin-of">${origin(index.kind(at))}</span> <span class="num">${bytes(index.bytes(at))}</span> <span class="num">${Number.isNaN(since) ? "" : after(since)}</span></button>`;
  };
  return html`<div class="search"><label for="family">Show</label> <select id="family" value=${chosen} onChange=${(e) => setChosen(e.currentTarget.value)}>${families.map(([value, name]) => html`<option value=${value}>${name}</option>`)}</select></div>
${index.last < model.last && html`<p class="none">${count.format(index.last)} of ${count.format(model.last)} are loaded.</p>`}
${index.full && html`<p class="cut">The list ends at ${count.format(index.last)}, because the thread is too long for it.</p>`}
${total === 0 ? html`<p class="none">There are none.</p>` : html`<${Rows} total=${total} height=${rowHeight} render=${render} label="Entries" current=${current} />`}`;
};
