// The index of a page with several runs: the filter, and the bar that names the current run.
(() => {
  const table = document.querySelector("table.index");
  if (!table) return;
  const bar = document.querySelector(".bar");
  const [index, previous, next, here, all, find, fold, status] =
    ["index", "previous", "next", "here", "all", "find", "open", "status"].map((id) => document.getElementById(id));

  const runs = [...table.tBodies[0].rows].map((row) => {
    const article = document.getElementById(row.querySelector("a").hash.slice(1));
    return { row, article, verdict: row.dataset.verdict, fold: article.querySelector(".fold"), name: row.cells[0].textContent };
  });
  let shown = runs;
  // The target of the last jump is the current run until the reader scrolls, because the
  // last runs of a page cannot scroll up to the bar.
  let target = null;
  let settled = 0;

  // at returns the index of the current run in shown, or -1 above the first.
  const at = () => {
    if (target && scrollY === settled) return shown.indexOf(target);
    const line = bar.getBoundingClientRect().bottom + 24;
    let low = 0;
    let high = shown.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (shown[middle].article.getBoundingClientRect().top <= line) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  };

  // place shows the current run in the bar.
  let said;
  const place = () => {
    const i = at();
    const run = shown[i];
    const some = shown.length < runs.length;
    const now = [i, shown.length, run && run.article.id].join();
    if (now === said) return;
    said = now;
    if (run) {
      const name = document.createElement("span");
      const capture = document.createElement("b");
      name.className = "name";
      capture.textContent = run.row.querySelector("a").textContent;
      name.append(capture);
      for (const part of run.row.querySelectorAll("th > small:not(.id)")) name.append(" ", part.cloneNode(true));
      here.replaceChildren(name, " ", run.row.querySelector(".verdict").cloneNode(true), " " + count.format(i + 1) + " of " + count.format(shown.length));
    } else {
      here.textContent = !some ? "" : shown.length ? count.format(shown.length) + " of " + count.format(runs.length) + " shown" : "No run matches.";
    }
    previous.setAttribute("aria-disabled", String(i < 0));
    next.setAttribute("aria-disabled", String(i + 1 >= shown.length));
    all.hidden = !some;
  };
  let due = false;
  const later = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      place();
    });
  };

  // go scrolls to a run, or to the index if run is null.
  const go = (run) => {
    target = run;
    const scroll = () => {
      (run ? run.article : index).scrollIntoView();
      settled = scrollY;
      place();
    };
    scroll();
    // Content that comes into view gets its real height in the following frames, unless the
    // reader has scrolled on.
    const settle = (frames) => requestAnimationFrame(() => {
      if (target !== run || scrollY !== settled) return;
      scroll();
      if (frames > 1) settle(frames - 1);
    });
    if (run) settle(10);
    status.textContent = run ? run.name + ", " + run.verdict : "Index";
  };

  // step moves by a number of runs, and from the first run back to the index. It reports
  // whether there was such a run.
  const step = (by) => {
    const i = at() + by;
    if (i < -1 || i >= shown.length) return false;
    go(shown[i] || null);
    return true;
  };

  const choices = new Map();
  let chosen = "";
  const show = () => {
    target = null;
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = runs.filter((run) => {
      if (chosen && run.verdict !== chosen) return false;
      if (words.length) run.text ??= [...run.row.cells, run.article.querySelector("header")].map((e) => e.textContent).join(" ").toLowerCase();
      return words.every((word) => run.text.includes(word));
    });
    const visible = new Set(shown);
    for (const run of runs) run.row.hidden = run.article.hidden = !visible.has(run);
    for (const [verdict, button] of choices) button.setAttribute("aria-pressed", String(verdict === chosen));
    place();
    status.textContent = here.textContent;
  };
  const choose = (verdict) => {
    chosen = verdict;
    show();
  };
  const clear = () => {
    chosen = find.value = "";
    show();
  };

  // Turn the counts of verdicts into buttons.
  for (const item of document.querySelectorAll(".words li")) {
    const was = item.querySelector(".choice");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "choice";
    button.append(...was.childNodes);
    button.addEventListener("click", () => choose(item.dataset.verdict));
    was.replaceWith(button);
    choices.set(item.dataset.verdict, button);
  }
  find.addEventListener("input", show);
  all.addEventListener("click", () => {
    const run = shown[at()] || null;
    clear();
    go(run);
  });
  previous.addEventListener("click", () => step(-1));
  next.addEventListener("click", () => step(1));
  fold.addEventListener("click", () => {
    const open = !shown.every((run) => run.fold.open);
    for (const run of shown) run.fold.open = open;
    fold.textContent = open ? "Close all" : "Open all";
  });
  previous.hidden = next.hidden = find.parentElement.hidden = false;

  // asked shows and opens the run in the fragment of the URL.
  const asked = () => {
    const run = runs.find((r) => "#" + r.article.id === location.hash);
    if (!run) return;
    if (run.row.hidden) clear();
    run.fold.open = true;
    go(run);
  };
  table.addEventListener("click", (e) => {
    const link = e.target.closest("a");
    if (!link) return;
    if (link.hash === location.hash) asked();
  });
  addEventListener("hashchange", asked);
  addEventListener("scroll", later, { passive: true });
  addEventListener("resize", later);

  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, select")) return;
    if (e.key === "/" && !e.target.closest("article")) {
      e.preventDefault();
      e.stopImmediatePropagation();
      find.focus();
      return;
    }
    const by = { n: 1, j: 1, p: -1, k: -1 }[e.key];
    if (!by || "jk".includes(e.key) && e.target.closest(".rows")) return;
    e.preventDefault();
    if (!step(by)) return;
    (target ? target.fold.querySelector("summary") : index).focus({ preventScroll: true });
  });
  place();
  asked();
})();
