import { ResumableAgent } from "./agent.js";

const find = (id) => document.getElementById(id);

// The address has what the page needs to come back: the thread, the agent, and the server if
// the page is not from it.
const address = new URL(location.href);
if (!address.searchParams.get("thread")) {
  address.searchParams.set("thread", crypto.randomUUID());
  history.replaceState(null, "", address);
}
const parameter = (name) => address.searchParams.get(name);
const another = new URL(address);
another.searchParams.delete("thread");
find("new").href = another;
const agent = new ResumableAgent({
  server: parameter("server") ?? location.origin,
  agent: parameter("agent") ?? "agent",
  threadId: parameter("thread"),
});

let runs = []; // of the thread, as the server lists them
let run = null; // the id of the run that is open
let end = null; // the event that ended the last run
let branch = null; // the earlier run that the next message continues
let busy = ""; // what the page is doing, other than receiving an answer
let lost = false; // whether the connection broke off
let note = ""; // what the user should know
let heard = true; // whether the last answer needs no announcement

agent.subscribe({
  onRunStartedEvent({ event }) {
    run = event.runId;
    end = null;
    lost = false;
    draw();
  },
  onTextMessageContentEvent() {
    heard = false; // The start of a connection has no such event.
  },
  onRunFinishedEvent: ({ event }) => ended(event),
  onRunErrorEvent: ({ event }) => ended(event),
  onMessagesChanged: () => draw(),
});

function ended(event) {
  run = null;
  end = event;
  draw();
}

/** Joins the thread and stays until its run has ended, whatever happens to the connection. */
async function join() {
  busy = "Connecting…";
  draw();
  for (let wait = 250; ; wait = Math.min(2 * wait, 8000)) {
    try {
      await agent.connectAgent();
      lost = false;
      if (run === null) break;
      wait = 250; // The connection ended before the run did.
    } catch (error) {
      if (error.status >= 400 && error.status < 500) throw error;
    }
    lost = true;
    draw();
    await new Promise((resolve) => {
      setTimeout(resolve, wait);
      addEventListener("online", resolve, { once: true });
    });
  }
  runs = await agent.runs();
}

/** Sends a message and shows the answer. */
async function send(text) {
  const runId = crypto.randomUUID();
  const parentRunId = branch?.run_id;
  // The page cannot answer what an agent asks, and agents continue only after an answer.
  const resume = agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: "cancelled" }));
  busy = "Sending…";
  end = null;
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
  let reason = "the server was not reached.";
  try {
    await agent.runAgent({ runId, parentRunId, ...(resume.length && { resume }) });
  } catch (error) {
    if (error.status) reason = detail(error);
  }
  if (end !== null) {
    runs = await agent.runs();
  } else {
    await join(); // The run goes on without the connection, if it has begun.
  }
  if (runs.some((r) => r.run_id === runId)) {
    branch = null;
    return;
  }
  if (!find("text").value.trim()) find("text").value = text;
  if (branch !== null) await agent.restore(branch.run_id);
  throw new Error(`Your message was not sent: ${reason}`);
}

/** Returns what the server says about an error: problem details (RFC 9457), or other text. */
function detail(error) {
  try {
    return JSON.parse(error.payload).detail ?? error.message;
  } catch {
    return error.message;
  }
}

/** Shows an earlier run. The next message continues it. */
async function leave(from) {
  busy = "Restoring…";
  await agent.restore(from.run_id);
  branch = from;
  end = null;
  find("text").focus();
}

/** Does one thing at a time, and says what went wrong. */
async function act(action) {
  if (busy) return;
  busy = "Working…";
  note = "";
  draw();
  try {
    await action();
  } catch (error) {
    run = null;
    lost = false;
    note = error.status && error.payload ? detail(error) : error.message;
  }
  busy = "";
  draw();
}

find("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = find("text").value.trim();
  if (busy || !text) return;
  find("text").value = "";
  act(() => send(text));
});

find("text").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  find("form").requestSubmit();
});

find("cancel").addEventListener("click", async () => {
  if (run === null) return;
  try {
    await agent.cancel(run); // The answer then ends with an event.
  } catch (error) {
    note = `The answer was not cancelled: ${error.message}`;
    draw();
  }
});

find("latest").addEventListener("click", () =>
  act(async () => {
    branch = null;
    find("text").focus();
    await join();
  }),
);

/** Says what the page does. Screen readers announce it, so it changes rarely. */
function state() {
  if (lost) return "The connection was lost. Trying again…";
  if (run !== null) return "Answering…";
  if (busy) return busy;
  if (note) return note;
  if (branch !== null) return `Your next message continues run ${branch.number}.`;
  if (end === null) return "Ready.";
  if (agent.pendingInterrupts.length) return "The agent asks for an approval. Your next message declines it.";
  if (end.outcome?.type === "cancelled" || end.code === "p20export.cancelled") return "The answer was cancelled.";
  if (end.type === "RUN_FINISHED") return "The answer is complete.";
  return `The answer was interrupted: ${end.message}`;
}

let drawing = false;

/** Brings the page up to date, once a frame. */
function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    put(find("state"), state());
    find("messages").setAttribute("aria-busy", String(run !== null));
    find("cancel").setAttribute("aria-disabled", String(run === null));
    find("send").setAttribute("aria-disabled", String(busy !== ""));
    drawMessages();
    drawRuns();
    // An answer is announced when it is complete, not word by word.
    if (run !== null) put(find("heard"), "");
    if (!busy && !heard) {
      heard = true;
      put(find("heard"), body(agent.messages.findLast((m) => m.role === "assistant")));
    }
  });
}

/** Changes text only if it differs, so that nothing is announced twice. */
function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const names = { user: "You", assistant: "Assistant", reasoning: "Reasoning", tool: "Tool" };

/** Returns the text of a message. */
function body(message) {
  const { content = "", toolCalls = [] } = message ?? {};
  const text = typeof content === "string" ? content : content.map((part) => part.text ?? `[${part.type}]`).join("\n");
  return [text, ...toolCalls.map((call) => `${call.function.name}(${call.function.arguments})`)].filter(Boolean).join("\n");
}

function drawMessages() {
  const messages = agent.messages.filter((m) => names[m.role]);
  const items = find("messages").children;
  messages.forEach((message, i) => {
    if (items[i]?.dataset.id !== message.id) {
      const item = element("li", element("h3", names[message.role]), element("p"));
      item.dataset.id = message.id;
      item.className = message.role;
      items[i] ? items[i].replaceWith(item) : find("messages").append(item);
    }
    put(items[i].lastChild, body(message));
  });
  while (items.length > messages.length) items[items.length - 1].remove();
}

function drawRuns() {
  find("branch").hidden = branch === null;
  put(find("branch-name"), branch === null ? "" : `After run ${branch.number}.`);
  const items = find("runs").children;
  runs.forEach((r, i) => {
    let text = `Run ${r.number}: ${r.end}`;
    if (r.edge === "named") text += `, continues run ${r.parent}`;
    if (!items[i]) {
      const button = element("button", `Branch from run ${r.number}`);
      button.type = "button";
      button.addEventListener("click", () => act(() => leave(runs[i])));
      find("runs").append(element("li", element("span"), button));
    }
    put(items[i].firstChild, text);
  });
}

function element(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

act(join);
