import { get } from "./api.js";
import { html, render, useCallback, useEffect, useState } from "./html.js";

// App shows what the query of the address names: a thread at a position, or the list.
const App = () => {
  const [session, setSession] = useState(null);
  const [problem, setProblem] = useState(null);
  const begin = useCallback(() => get("session").then(setSession, setProblem), []);
  useEffect(() => void begin(), []);
  if (problem) return html`<p role="alert">${problem.message}</p>`;
  if (!session) return html`<p role="status">Loading</p>`;
  return html`<main><h1>Threads</h1></main>`;
};

render(html`<${App} />`, document.getElementById("app"));
