(() => {
  const chunk = 100;
  const status = document.getElementById("status");

  const element = (tag, name, text) => {
    const e = document.createElement(tag);
    if (name) e.className = name;
    if (text !== undefined) e.textContent = text;
    return e;
  };

  // visible returns a fragment with text in which every character is visible.
  const visible = (text, breaks) => {
    const all = document.createDocumentFragment();
    for (const [i, piece] of pieces(text, breaks).entries()) all.append(i % 2 ? element("b", "x", piece) : piece);
    return all;
  };

  // read decodes the data of a timeline to a list of events.
  const read = (data) => {
    const left = new Map();
    for (const [index, pointer, reason, verb] of data.left) {
      if (!left.has(index)) left.set(index, []);
      left.get(index).push({ pointer, reason, verb });
    }
    return data.events.map(([type, index, offset, bytes, micros, text, cut]) => ({
      type: data.types[type][0], hue: data.types[type][1], index, offset, bytes, micros, text, cut,
      kept: data.kept[index], left: left.get(index) || [],
    }));
  };

  // gather groups consecutive events of the same type.
  const gather = (events) => {
    const groups = [];
    for (const e of events) {
      const last = groups[groups.length - 1];
      if (last && last[0].type === e.type && !e.kept && !last[0].kept) last.push(e);
      else groups.push([e]);
    }
    return groups;
  };

  let ids = 0;

  // row returns a list item whose button opens a body. fill adds the contents of the body
  // when it is first opened.
  const row = (cells, fill) => {
    const li = element("li");
    const button = element("button", "row");
    const body = element("div", "body");
    button.type = "button";
    body.id = "b" + ++ids;
    body.hidden = true;
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-controls", body.id);
    button.append(...cells);
    li.toggle = (open) => {
      if (open && !body.hasChildNodes()) fill(body);
      body.hidden = !open;
      button.setAttribute("aria-expanded", String(open));
    };
    button.addEventListener("click", () => li.toggle(body.hidden));
    li.append(button, body);
    return li;
  };

  const arrival = (micros) => micros < 0 ? "" : "+" + (micros / 1000).toFixed(3) + " ms";

  const cells = (first, last, number) => {
    const place = element("span", "at", first.index === last.index ? "#" + first.index : "#" + first.index + "\u2013" + last.index);
    const type = element("span", "type " + first.hue);
    if (first.type) type.append(visible(first.type));
    else type.append("not an event");
    if (number > 1) type.append(" \u00d7 " + count.format(number));
    return [place, type];
  };

  const figures = (bytes, offset, micros) => [
    element("span", "bytes", plural(bytes, "byte", "bytes")),
    element("span", "offset", "byte " + count.format(offset)),
    element("span", "arrived", arrival(micros)),
  ];

  const eventRow = (e) => {
    const line = cells(e, e, 1);
    if (e.kept) line[1].append(" ", element("span", "tag keep", "kept"));
    if (e.left.length) line[1].append(" ", element("span", "tag", plural(e.left.length, "omission", "omissions")));
    return row([...line, ...figures(e.bytes, e.offset, e.micros)], (body) => {
      for (const o of e.left) {
        const p = element("p", "omission", o.verb + ": ");
        const code = element("code");
        code.append(visible(o.pointer || (o.reason === "snapshot_lacks_streamed_text" ? "the text that begins here" : "the whole event")));
        p.append(code, " ", element("span", "tag", o.reason));
        body.append(p);
      }
      if (e.text) {
        const pre = element("pre");
        pre.append(visible(e.text, true));
        body.append(pre);
      }
      if (e.cut) {
        body.append(element("p", "cut", (e.text ? "The rest" : "It") + " is not shown here; the event lies at byte " + count.format(e.offset) + " of the response."));
      }
    });
  };

  const groupRow = (group) => {
    if (group.length === 1) return eventRow(group[0]);
    const first = group[0], last = group[group.length - 1];
    const bytes = group.reduce((sum, e) => sum + e.bytes, 0);
    const line = cells(first, last, group.length);
    const omissions = group.reduce((sum, e) => sum + e.left.length, 0);
    if (omissions) line[1].append(" ", element("span", "tag", plural(omissions, "omission", "omissions")));
    return row([...line, ...figures(bytes, first.offset, first.micros)], (body) => {
      const list = element("ol", "rows");
      body.append(list);
      fill(list, group, eventRow);
    });
  };

  // fill adds items to a list, one chunk at a time.
  const fill = (list, items, make, from = 0) => {
    const to = Math.min(items.length, from + chunk);
    const made = items.slice(from, to).map(make);
    list.append(...made);
    if (to < items.length) {
      const li = element("li", "more");
      const button = element("button", "", "Show " + count.format(Math.min(chunk, items.length - to)) + " more of " + count.format(items.length - to));
      button.type = "button";
      button.addEventListener("click", () => {
        li.remove();
        fill(list, items, make, to)[0].firstChild.focus();
      });
      li.append(button);
      list.append(li);
    }
    return made;
  };

  const build = (details) => {
    const run = details.dataset.run;
    const events = read(JSON.parse(document.getElementById("data-" + run).textContent));
    const form = element("div", "search");
    form.setAttribute("role", "search");
    form.setAttribute("aria-label", "Events of run " + run);

    const input = element("input");
    input.type = "search";
    input.id = "q" + run;
    input.autocomplete = "off";
    input.spellcheck = false;
    const label = element("label", "", "Search");
    label.htmlFor = input.id;

    const select = element("select");
    select.id = "t" + run;
    const of = element("label", "", "Show");
    of.htmlFor = select.id;
    const types = new Map();
    for (const e of events) types.set(e.type, (types.get(e.type) || 0) + 1);
    const option = (value, text) => {
      const o = element("option");
      o.value = value;
      o.append(visible(text));
      select.append(o);
    };
    option("all", "all events");
    if (events.some((e) => e.kept)) option("kept", "events that were kept");
    if (events.some((e) => e.left.length)) option("left", "events with omissions");
    for (const [type, n] of types) option("=" + type, (type || "not an event") + " (" + count.format(n) + ")");

    const said = element("p", "count");
    said.setAttribute("role", "status");
    const list = element("ol", "rows");
    const field = (...parts) => {
      const span = element("span", "field");
      span.append(...parts);
      return span;
    };
    const keys = element("p", "keys", "Keys: ");
    keys.append(element("kbd", "", "/"), " search, ", element("kbd", "", "\u2193"), " ", element("kbd", "", "\u2191"), " in the list");
    form.append(field(label, input), field(of, select), keys, said);
    details.append(form, list);

    const shows = {
      all: () => true,
      kept: (e) => Boolean(e.kept),
      left: (e) => e.left.length > 0,
    };
    const show = () => {
      const query = input.value.trim().toLowerCase();
      const chosen = shows[select.value] || ((e) => "=" + e.type === select.value);
      list.replaceChildren();
      if (!query && select.value === "all") {
        const groups = gather(events);
        fill(list, groups, groupRow);
        said.textContent = groups.length < events.length ? count.format(events.length) + " listed in " + plural(groups.length, "row", "rows") : "";
        return;
      }
      const number = /^#(\d+)$/.exec(query);
      const matching = events.filter((e) => chosen(e) && (number ? e.index === Number(number[1]) : !query
        || e.type.toLowerCase().includes(query) || (e.lower ??= e.text.toLowerCase()).includes(query)));
      fill(list, matching, eventRow);
      said.textContent = count.format(matching.length) + " of " + count.format(events.length) + " listed";
    };
    input.addEventListener("input", show);
    select.addEventListener("change", show);
    details.find = (index) => {
      select.value = "all";
      input.value = "#" + index;
      show();
      const found = list.querySelector("li");
      if (!found) return;
      found.toggle(true);
      found.firstChild.focus();
      found.scrollIntoView({ block: "nearest" });
    };
    list.addEventListener("keydown", (e) => {
      const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[e.key];
      if (!step || e.ctrlKey || e.metaKey || e.altKey) return;
      const rows = [...list.querySelectorAll("button")].filter((b) => b.checkVisibility());
      const next = rows[rows.indexOf(document.activeElement) + step];
      if (!next) return;
      e.preventDefault();
      next.focus();
    });
    show();
  };

  const timelines = [...document.querySelectorAll("details.timeline")];
  for (const details of timelines) {
    const ready = () => {
      if (details.open && !details.find) build(details);
    };
    details.addEventListener("toggle", ready);
    ready();
  }

  // unfold opens a timeline and everything that contains it.
  const unfold = (details) => {
    for (let d = details; d; d = d.parentElement.closest("details")) d.open = true;
    if (!details.find) build(details);
  };

  document.addEventListener("click", (e) => {
    const link = e.target.closest("a[data-event]");
    const details = link && link.closest("article").querySelector("details.timeline");
    if (!details) return;
    e.preventDefault();
    unfold(details);
    details.find(link.dataset.event);
  });

  document.addEventListener("keydown", (e) => {
    if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, select")) return;
    const at = document.activeElement.closest("article");
    const details = timelines.find((d) => at ? at.contains(d) : d.open) || timelines[0];
    if (!details) return;
    e.preventDefault();
    unfold(details);
    details.querySelector("input").focus();
  });

  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        status.textContent = "Copied.";
        button.firstChild.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        status.textContent = "Selected. Copy it with your keyboard.";
        button.firstChild.textContent = "Selected";
      }
    });
  }

  // Open folded parts for printing, except long strings, timelines and JSON.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open], .timeline, .raw, .tree *)")];
    for (const d of opened) d.open = true;
  });
  addEventListener("afterprint", () => {
    for (const d of opened) d.open = false;
  });
})();
