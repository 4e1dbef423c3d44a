import { get, hasToken, onUnauthorized, setToken } from "./api.js";
import { html, plain, render, useCallback, useEffect, useRef, useState, visible } from "./html.js";
import { address, announce, Failure, Link, prepareToPrint, useFocus, useKeys } from "./shell.js";
import { Help } from "./help.js";
import { newThreads } from "./feed.js";
import { place } from "./first.js";
import { ThreadPage } from "./thread.js";
import { ThreadList } from "./threads.js";

// Login asks for a token.
const Login = ({ refused, use }) => {
  const field = useRef(null);
  useEffect(() => field.current.focus(), []);
  return html`<form class="login" onSubmit=${(e) => {
    e.preventDefault();
    use(field.current.value.trim());
  }}>
<h2>The server asks for a token</h2>
<p>Whoever runs the server gives tokens. The token is kept for this tab, until it is closed.</p>
${refused && html`<p class="note" role="alert">The server does not accept this token.</p>`}
<p class="field"><label for="token">Token</label> <input id="token" ref=${field} type="password" autocomplete="off" spellcheck="false" required /> <button>Use it</button></p>
</form>`;
};

// firstWait and longestWait are the times in milliseconds after which a server that does not
// answer is asked again.
const firstWait = 1000, longestWait = 30000;

// App shows the place that the address names.
const App = () => {
  const [at, setAt] = useState(place);
  const [session, setSession] = useState(null);
  const [problem, setProblem] = useState(null);
  const [help, setHelp] = useState(false);
  const [threads, setThreads] = useState(newThreads);
  const wait = useRef(firstWait);

  const begin = useCallback(() => {
    setProblem(null);
    get("session").catch((error) => {
      if (error.status === 404) return { agents: [], may: {} };
      throw error;
    }).then((s) => {
      wait.current = firstWait;
      setSession(s);
    }, setProblem);
  }, []);
  useEffect(() => {
    onUnauthorized((error) => {
      setSession(null);
      setProblem(error);
    });
    begin();
  }, []);
  useEffect(() => {
    if (problem?.status !== 0) return undefined;
    const timer = setTimeout(begin, wait.current);
    wait.current = Math.min(2 * wait.current, longestWait);
    return () => clearTimeout(timer);
  }, [problem]);

  const go = useCallback((to, { replace } = {}) => {
    const next = address(to);
    if (replace) history.replaceState(null, "", next);
    else if (next !== location.search) history.pushState(null, "", next);
    setAt(place());
  }, []);
  useEffect(() => {
    const moved = () => setAt(place());
    addEventListener("popstate", moved);
    return () => removeEventListener("popstate", moved);
  }, []);

  const title = at.thread ? plain(at.thread) : "Threads";
  const first = useRef(true);
  useEffect(() => {
    document.title = title + " – p20export";
    if (!first.current) {
      announce(title);
      if (at.thread) {
        scrollTo(0, 0);
        document.getElementById("main").focus({ preventScroll: true });
      }
    }
    first.current = false;
  }, [at.thread]);
  useFocus();
  useKeys({ "?": () => setHelp(true) });

  // use begins again with another token, or without one if it is "". What the one before may see
  // is forgotten.
  const use = (token) => {
    setToken(token);
    setThreads(newThreads());
    setSession(null);
    begin();
  };

  let page;
  if (problem?.status === 401) page = html`<${Login} refused=${hasToken()} use=${use} />`;
  else if (problem) page = html`<${Failure} problem=${problem} retry=${begin} />${problem.status === 0 && html`<p class="none">The page asks again by itself.</p>`}`;
  else if (!session) page = html`<p class="none">Loading</p>`;
  else if (at.thread === "." || at.thread === "..") page = html`<h2>${at.thread}</h2><p>Browsers cannot ask for a thread with this id. The commands can, such as <code>p20export log restore</code>.</p>`;
  else if (at.thread) page = html`<${ThreadPage} key=${at.thread} thread=${at.thread} at=${at.at} session=${session} go=${go} />`;
  else page = html`<${ThreadList} threads=${threads} find=${at.find} go=${go} />`;

  return html`<a class="skip" href="#main" onClick=${(e) => {
    e.preventDefault();
    document.getElementById("main").focus();
  }}>Skip to the page</a>
<header class="top">
<h1>${at.thread ? html`<${Link} to=${{}} go=${go}>Threads<//>` : html`<span>p20export</span> Threads`}</h1>
${session?.tenant && html`<p class="tenant">Tenant <b>${visible(session.tenant)}</b></p>`}
${session && hasToken() && html`<button type="button" onClick=${() => use("")}>Forget the token</button>`}
<button type="button" aria-keyshortcuts="?" onClick=${() => setHelp(true)}>Keys</button>
</header>
<main id="main" tabindex="-1">${page}</main>
<footer><p>What this window shows is restored from a log, and is not evidence.${session?.version && html` Made by ${visible(session.version)}.`}</p></footer>
${help && html`<${Help} close=${() => setHelp(false)} />`}`;
};

const show = () => render(html`<${App} />`, document.getElementById("app"));
show();
addEventListener("beforeprint", () => {
  prepareToPrint();
  show(); // at once
});
