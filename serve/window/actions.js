// What a reader can do with a moment or a run.
import { agentPath, hasToken, post, request, threadPath, withQuery } from "./api.js";
import { html, plain, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { announce } from "./shell.js";
import { save } from "./moment.js";
import { parse, Text, Tree } from "./thread_parts.js";

// quote quotes a text for a shell. Characters that cannot be seen are escaped, which needs
// bash, ksh or zsh.
export const quote = (text) => {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (!/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text)) return "'" + text.replaceAll("'", "'\\''") + "'";
  const bytes = new TextEncoder().encode(text);
  const escaped = [...bytes].map((b) => (b === 0x27 || b === 0x5c ? "\\" + String.fromCharCode(b) : b < 0x20 || b > 0x7e ? "\\x" + b.toString(16).padStart(2, "0") : String.fromCharCode(b)));
  // A digit after an escaped byte would belong to it in some shells.
  return "$'" + escaped.join("").replace(/(\\x[0-9a-f]{2})(?=[0-9a-fA-F])/g, "$1'$'") + "'";
};

// commands returns commands that show the same as the page.
export const commands = (thread, position) => {
  const url = new URL(withQuery(threadPath(thread, "restore"), { position }), document.baseURI).href;
  return [
    ["The conversation over HTTP", "curl -s " + (hasToken() ? '-H "Authorization: Bearer $TOKEN" ' : "") + quote(url)],
    ["The conversation from the log", "p20export log restore --at " + position + " -- " + quote(thread)],
    ["The entries from here, from the log", "p20export log cat --after " + (position - 1) + " --format json -- " + quote(thread)],
  ];
};

// Copied is a text with a button that copies it, or selects it if the page may not copy.
const Copied = ({ text, label }) => {
  const [done, setDone] = useState("");
  const code = useRef(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone("Copied");
      announce("Copied.");
    } catch {
      getSelection().selectAllChildren(code.current);
      setDone("Selected");
      announce("Selected. Copy it with your keyboard.");
    }
  };
  return html`<div class="command"><p>${label} <button type="button" class="copy" aria-label=${"Copy: " + label} onClick=${copy}>${done || "Copy"}</button></p><code ref=${code}><${Text} text=${text} breaks=${false} /></code></div>`;
};

// CopyLink copies the address of the moment.
export const CopyLink = ({ href }) => {
  const [done, setDone] = useState("");
  useEffect(() => setDone(""), [href]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(href);
      setDone("Copied");
      announce("The link is copied.");
    } catch {
      setDone(href);
    }
  };
  return html`<button type="button" onClick=${copy}>${done === "Copied" ? "Link copied" : "Copy link"}</button>${done && done !== "Copied" && html` <code>${done}</code>`}`;
};

// Downloads offers the files about a thread and a run.
const Downloads = ({ thread, run, facts, session }) => {
  const [problem, setProblem] = useState("");
  const offer = (label, path, name) => html`<button type="button" onClick=${() => {
    setProblem("");
    save(path, name).catch((error) => setProblem(error.message));
  }}>${label}</button> `;
  return html`<h4>Download</h4><p class="buttons">${offer("Export of the thread", threadPath(thread, "export"), thread + ".ndjson")}
${session.may.evidence && facts?.capture && html`${offer("Capture of the run", withQuery(threadPath(thread, "capture"), { run }), facts.capture + ".tar")}${offer("Evidence page of the run", withQuery(threadPath(thread, "report"), { run }), facts.capture + ".html")}`}</p>
${problem && html`<p class="note" role="alert">${problem}</p>`}`;
};

// Answer is the field for the answer to an interrupt.
const Answer = ({ interrupt, answer, set }) => html`<fieldset><legend>Answer: <${Text} text=${[interrupt.message, interrupt.reason, interrupt.id].find((text) => typeof text === "string" && text) ?? "no text"} breaks=${false} /></legend>
<p class="field"><label>It is <select value=${answer.status} onChange=${(e) => set({ ...answer, status: e.currentTarget.value })}><option value="resolved">resolved</option><option value="cancelled">cancelled</option></select></label></p>
${answer.status === "resolved" && html`<p class="field"><label>with this JSON, or nothing <textarea rows="2" value=${answer.payload} onInput=${(e) => set({ ...answer, payload: e.currentTarget.value })}></textarea></label></p>`}</fieldset>`;

// compose adds a message and answers to a request.
const compose = (fork, text, interrupts, answers) => {
  const input = { ...fork, messages: [...(fork.messages ?? [])] };
  if (text) input.messages.push({ id: crypto.randomUUID(), role: "user", content: text });
  if (interrupts.length > 0) {
    input.resume = interrupts.map((interrupt, i) => {
      const { status, payload } = answers[i];
      return { interruptId: interrupt.id, status, ...(status === "resolved" && payload.trim() ? { payload: parse(payload) } : {}) };
    });
  }
  return input;
};

// Continue sends a request that continues a run, after it was shown.
const Continue = ({ thread, moment, session, model }) => {
  const [shown, setShown] = useState(null); // the request, which belongs to a run
  const [text, setText] = useState("");
  const [agent, setAgent] = useState(session.agents[0]);
  const [answers, setAnswers] = useState([]);
  const [said, setSaid] = useState("");
  const [problem, setProblem] = useState("");
  const run = moment.run;
  const fork = shown?.run === run?.position ? shown : null;
  // Who opens or closes the form with a key goes on in it, or at the button that opens it.
  const part = useRef(null);
  const moves = useRef(false);
  useLayoutEffect(() => {
    if (moves.current) part.current.querySelector(fork ? "select, textarea" : "button")?.focus();
    moves.current = false;
  }, [fork]);
  const show = (next) => {
    moves.current = true;
    setShown(next);
  };
  const interrupts = fork?.interrupts ?? [];
  const begin = async () => {
    setProblem("");
    setSaid("");
    try {
      const path = withQuery(threadPath(thread, "fork"), { run: run.position, run_id: crypto.randomUUID(), form: "full" });
      const input = parse(await (await request(path)).text());
      const end = model.index.end(run.position);
      const asks = run.end === "interrupted" && end ? parse(await (await request(withQuery(threadPath(thread, "moment"), { position: end, limit: 1 }))).text()).interrupts ?? [] : [];
      setAnswers(asks.map(() => ({ status: "resolved", payload: "" })));
      show({ run: run.position, input, interrupts: asks });
    } catch (error) {
      setProblem(error.message);
    }
  };
  let input = fork?.input;
  let wrong = "";
  if (fork) {
    try {
      input = compose(fork.input, text, interrupts, answers);
    } catch {
      wrong = "The answer is not JSON.";
    }
  }
  const send = async (e) => {
    e.preventDefault();
    setProblem("");
    try {
      const response = await post(agentPath(agent), input);
      show(null);
      setText("");
      setSaid("The request was sent.");
      announce("The request was sent.");
      model.follow();
      // The run belongs to the server, but its client has to stay, or another request may replace it.
      await response.body.pipeTo(new WritableStream());
    } catch (error) {
      if (!(error instanceof TypeError)) setProblem(error.message);
    }
  };
  return html`<div ref=${part}><h4>Continue from here</h4>
${!run ? html`<p class="none">There is no run to continue.</p>` : !fork && html`<p>A new run can continue run <code><${Text} text=${run.run_id || "without id"} breaks=${false} /></code> from its end. <button type="button" disabled=${run.end === "open"} onClick=${begin}>Show the request</button></p>`}
${fork && html`<form class="continue" onSubmit=${send}>
${interrupts.map((interrupt, i) => html`<${Answer} key=${i} interrupt=${interrupt} answer=${answers[i]} set=${(a) => setAnswers(answers.with(i, a))} />`)}
<p class="field"><label>Your message <textarea rows="3" value=${text} onInput=${(e) => setText(e.currentTarget.value)}></textarea></label></p>
<p class="field"><label>Agent <select value=${agent} onChange=${(e) => setAgent(e.currentTarget.value)}>${session.agents.map((name) => html`<option value=${name}>${plain(name)}</option>`)}</select></label></p>
<${Tree} value=${input} label="The request" />
${wrong && html`<p class="note" role="alert">${wrong}</p>`}
<p class="buttons"><button disabled=${wrong !== ""}>Send it</button> <button type="button" onClick=${() => show(null)}>Do not send it</button></p></form>`}
${said && html`<p class="none">${said}</p>`}
${problem && html`<p class="note" role="alert">${problem}</p>`}</div>`;
};

// Cancel cancels a run that goes on, after a question.
export const Cancel = ({ thread, run, model }) => {
  const [sure, setSure] = useState(false);
  const [problem, setProblem] = useState("");
  const button = useRef(null);
  useEffect(() => sure && button.current?.focus(), [sure]);
  const cancel = async () => {
    setSure(false);
    try {
      await post(threadPath(thread, "runs", run.run_id, "cancel"), {});
      announce("The run is cancelled.");
      model.follow();
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`<p class="buttons cancel">${sure
    ? html`Cancel run <code><${Text} text=${run.run_id} breaks=${false} /></code>? Its agent stops. <button type="button" ref=${button} onClick=${cancel}>Cancel it</button> <button type="button" onClick=${() => setSure(false)}>Let it go on</button>`
    : html`<button type="button" onClick=${() => setSure(true)}>Cancel the run</button>`}</p>
${problem && html`<p class="note" role="alert">${problem}</p>`}`;
};

// Actions has everything that the reader can do with the moment.
export const Actions = ({ thread, moment, facts, session, model }) => html`
<h4>Commands for this moment</h4>
${commands(thread, moment.position).map(([label, text]) => html`<${Copied} key=${label} label=${label} text=${text} />`)}
<p class="none">The commands read the log that <code>P20EXPORT_STORE</code> names, or that you give with <code>--store</code>.</p>
<${Downloads} thread=${thread} run=${moment.run?.position} facts=${facts} session=${session} />
${session.may.run && session.agents.length > 0 && html`<${Continue} thread=${thread} moment=${moment} session=${session} model=${model} />`}`;
