import { get, threadPath, withQuery } from "./api.js";
import { html, useEffect, useState, visible } from "./html.js";
import { Failure } from "./shell.js";

// ThreadPage shows a thread at a position.
export const ThreadPage = ({ thread, at }) => {
  const [moment, setMoment] = useState(null);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    const stop = new AbortController();
    get(withQuery(threadPath(thread, "moment"), { position: at }), { signal: stop.signal }).then(setMoment, (error) => {
      if (error.name !== "AbortError") setProblem(error);
    });
    return () => stop.abort();
  }, [thread, at]);
  return html`<h2>${visible(thread)}</h2>
${problem && html`<${Failure} problem=${problem} />`}
${moment && html`<pre>${visible(JSON.stringify(moment, null, 2), true)}</pre>`}`;
};
