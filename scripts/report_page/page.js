// The charts and the sorting of the page that report_html.py writes. Data comes from the element #data; words, table and environment are
// in the page already. How a series looks comes with the data (result_series.py), other colours from page.css, for light and dark.
"use strict";
(() => {
  let data, groups;  // of chart_data in report_html.py
  const at = (id) => document.getElementById(id);
  const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
  const chosen = { group: 0, index: 0 };

  const unit_of = (ns) => ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "us"] : [1, "ns"];
  const time = (ns) => { const [scale, unit] = unit_of(ns); return `${(ns / scale).toPrecision(3)}\u00a0${unit}`; };
  const plural = (n) => `${n} device${n === 1 ? "" : "s"}`;
  const plain = (s) => String(s).replace(/&/g, "&amp;").replace(/</g, "&lt;");  // Plotly reads a little HTML in labels
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const look = (label) => {  // black is the colour of ink, which is white on dark paper
    const [color, symbol, dash] = data.looks[label] || ["#888888", "circle", "solid"];
    return { color: color === "#000000" ? ink("black") : color, symbol, dash };
  };
  const hatches = { upload: "/", download: "\\", exchange: "+", launch: "x", sync: ".", waking: "-", rest: "/" };
  // What a device does at a moment, in the order of legends: [kind or state, words, colour, hatch].
  const kinds = () => Object.entries(data.kinds).map(([kind, color]) => [kind, kind, color, hatches[kind] || ""]);
  const waits = () => Object.entries(data.waits).map(([state, words]) =>
    [state, words, ink({ waking: "idle", rest: "paper" }[state] || state), hatches[state] || ""]);
  const rank = (name) => 1 + [...kinds(), ...waits()].findIndex((one) => one[0] === name);
  const filled = (color, shape, more) => ({ color, pattern: { shape, bgcolor: color, fgcolor: ink("black"), fgopacity: 0.45, size: 6 }, ...more });
  const narrow = () => innerWidth < 760;
  const axis = (more) => ({ gridcolor: ink("grid"), zerolinecolor: ink("grid"), linecolor: ink("bar-line"), ...more });
  const layout = (height, more) => ({
    height, margin: { l: 50, r: 10, t: 32, b: 45 }, font: { size: 12, color: ink("ink") }, hovermode: "closest",
    legend: { orientation: "h", y: -0.2, yanchor: "top" }, plot_bgcolor: ink("paper"), paper_bgcolor: ink("paper"), barmode: "stack",
    hoverlabel: { bgcolor: ink("soft"), bordercolor: ink("line"), font: { color: ink("ink") } },
    modebar: { color: ink("faint"), activecolor: ink("ink"), bgcolor: "rgba(0,0,0,0)" }, ...more, xaxis: axis(more.xaxis), yaxis: axis({ automargin: true, ...more.yaxis }) });
  const room = (entries, columns = 2) => 22 * (narrow() ? entries : Math.ceil(entries / columns));  // of a legend below the axes
  // Of a chart whose legend lies below: the axes keep their height, whatever the legend takes.
  const with_legend = (height, entries, more, columns = 2) => layout(height + room(entries, columns), {
    ...more, margin: { l: 55, r: 10, t: 32, b: 50 + room(entries, columns) }, legend: { orientation: "h", y: -55 / (height - 82), yanchor: "top" } });
  const titled = (text) => ({ title: { text, standoff: 8 } });
  const lanes = (labels) => ({ type: "category", categoryorder: "array", categoryarray: [...labels].reverse(), automargin: true, fixedrange: true });
  const shown = (c) => (narrow() ? plain(c.told).replace(" (", "<br>(") : plain(c.told)) + c.marks;
  const prefixed = (v) => {
    const [scale, prefix] = v >= 1e12 ? [1e12, " T"] : v >= 1e9 ? [1e9, " G"] : v >= 1e6 ? [1e6, " M"] : v >= 1e3 ? [1e3, " k"] : [1, ""];
    return `${Number((v / scale).toPrecision(3))}${prefix}`;
  };
  const logarithmic = (low, high) => {  // 1, 2, 5, 10 or, over many decades, 1, 10
    const ticks = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); ++e)
      for (const m of high > 200 * low ? [1] : [1, 2, 5]) if (m * 10 ** e >= low && m * 10 ** e <= high) ticks.push(m * 10 ** e);
    return { type: "log", range: [Math.log10(low), Math.log10(high)], tickvals: ticks, ticktext: ticks.map(prefixed) };
  };

  function draw_scaling(group) {
    const cases = group.cases.filter((c) => c.speedup && c.strategy !== "single");
    const lines = new Map();
    for (const c of cases) lines.set(c.label, [...(lines.get(c.label) || []), c]);
    const ideal = new Map([[1, 1]]);
    for (const c of cases) if (c.ideal_speedup) ideal.set(c.n, c.ideal_speedup);
    const measured = new Set(cases.map((c) => c.n));
    const counts = [...new Set([1, ...measured])].sort((a, b) => a - b);
    at("scaling-figure").hidden = measured.size < 2;
    if (measured.size < 2) return;
    const xs = [...ideal.keys()].sort((a, b) => a - b);
    const traces = [{ x: xs, y: xs.map((x) => ideal.get(x)), name: "ideal: sum of the single-device speeds", mode: "lines", line: { color: ink("faint"), dash: "dash", width: 1.5 } }];
    for (const [label, line] of lines) {
      const { color, symbol, dash } = look(label);
      const marks = line.map((c) => c.marks).sort((a, b) => b.length - a.length)[0];
      traces.push({
        x: line.map((c) => c.n), y: line.map((c) => c.speedup), name: plain(label) + marks, mode: "lines+markers", text: line.map((c) => time(c.median) + c.marks),
        error_y: { type: "data", symmetric: false, array: line.map((c) => c.interval ? Math.max(0, c.speedup * (c.median / c.interval[0] - 1)) : 0),
          arrayminus: line.map((c) => c.interval ? Math.max(0, c.speedup * (1 - c.median / c.interval[1])) : 0) },
        line: { color, dash }, marker: { symbol, size: 9 }, hovertemplate: "%{x} devices: %{y:.3f}, %{text}" });
    }
    Plotly.react("scaling", traces, with_legend(330, traces.length, {
      xaxis: { ...titled("devices"), tickvals: counts, range: [0.8, counts[counts.length - 1] + 0.2] }, yaxis: { ...titled("speed-up"), rangemode: "tozero" } }), config);
  }

  function draw_strategies(group, n) {
    const cases = group.cases.filter((c) => c.n === n);
    at("strategies-of").textContent = `Time by strategy on ${plural(n)}: median, 95\u00a0% interval, samples`;
    const [scale, unit] = unit_of(Math.max(...cases.map((c) => c.median)));
    const y = cases.map(shown);
    const most = 1.06 * Math.max(...cases.map((c) => Math.max(c.median, c.interval ? c.interval[1] : 0, ...c.samples.filter((t) => t < 1.2 * c.median)) / scale));
    const bars = { type: "bar", orientation: "h", y, x: cases.map((c) => c.median / scale), showlegend: false, hoverinfo: "skip",
      marker: { color: ink("bar"), line: { color: cases.map((c) => ink(c.leads ? "ink" : "bar-line")), width: cases.map((c) => c.leads ? 2 : 0.5) },
        pattern: { shape: cases.map((c) => c.marks.includes("!") ? "/" : ""), fgcolor: ink("faint"), bgcolor: ink("bar"), fgopacity: 0.7, size: 8 } } };
    // A table to the right of the axes, where no bar, tick or line can cross it.
    const shares = 72 + 8 * Math.max("shares, %".length, ...cases.map((c) => c.shares.length + 1));
    const columns = [["time", 72, (c) => (c.leads ? "★ " : "") + time(c.median)], ["shares, %", shares, (c) => c.shares]];
    if (!narrow()) columns.push(["efficiency", shares + 77, (c) => c.efficiency]);
    const beside = { xref: "paper", x: 1, xanchor: "right", showarrow: false, font: { size: 12, color: ink("ink") } };
    const annotations = columns.flatMap(([head, xshift, of]) => [{ ...beside, xshift, yref: "paper", y: 1, yanchor: "bottom", text: `<b>${head}</b>` },
      ...cases.map((c, k) => ({ ...beside, xshift, y: y[k], text: c.leads ? `<b>${of(c)}</b>` : of(c) }))]);
    const ticks = { type: "scatter", mode: "markers", y: cases.flatMap((c) => c.samples.map(() => shown(c))), showlegend: false,
      x: cases.flatMap((c) => c.samples.map((t) => t / scale)), marker: { symbol: "line-ns-open", color: ink("ink"), size: 8, opacity: 0.4 }, hoverinfo: "skip" };
    const medians = cases.map((c) => ({ type: "scatter", mode: "markers", y: [shown(c)], x: [c.median / scale], showlegend: false,
      hovertemplate: "%{y}: %{x:.4g} " + unit + "<extra></extra>", marker: { symbol: look(c.label).symbol, color: look(c.label).color, size: 12 },
      error_x: { type: "data", symmetric: false, color: ink("ink"), thickness: 1.5, array: [c.interval ? (c.interval[1] - c.median) / scale : 0],
        arrayminus: [c.interval ? (c.median - c.interval[0]) / scale : 0] } }));
    Plotly.react("strategies", [bars, ticks, ...medians], layout(Math.max(240, 115 + 30 * cases.length),
      { margin: { l: 50, r: columns.at(-1)[1] + 10, t: 50, b: 50 }, annotations,
        xaxis: { ...titled(`time, ${unit}`), nticks: narrow() ? 4 : 8, range: [0, most] }, yaxis: lanes(y) }), config);
  }

  function draw_sizes(chosen_group) {
    const sweep = data.sweeps.find((s) => s.groups.includes(chosen_group)) || null;
    at("sizes-figure").hidden = !sweep;
    if (!sweep) return;
    at("sizes-of").textContent = `Rate against size: ${sweep.title}`;
    const hover = { hovertemplate: "%{text}<extra></extra>" };
    const greys = ["solid", "dash", "dashdot", "dot", "longdash", "longdashdot"];
    const traces = sweep.lines.map(([name, line], k) => ({
      x: line.map((p) => p[0]), y: line.map((p) => p[1]), name: plain(name) + line.map((p) => p[3]).sort((a, b) => b.length - a.length)[0], mode: sweep.by_count ? "lines" : "lines+markers",
      text: line.map((p) => plain(p[2]) + p[3]), ...hover,
      ...(sweep.by_count ? { line: { color: ink(k % 2 ? "faint" : "ink"), dash: greys[k % greys.length], width: 1.5 }, hoverinfo: "skip", hovertemplate: null }
        : { line: { color: look(name).color, dash: look(name).dash }, marker: { symbol: look(name).symbol, size: 9 } }) }));
    if (sweep.by_count) {  // the mark of a point says which strategy was fastest there
      const by_label = new Map();
      for (const [name, line] of sweep.lines) for (const p of line) by_label.set(p[2], [...(by_label.get(p[2]) || []), [...p, name]]);
      for (const [label, points] of by_label) traces.push({ x: points.map((p) => p[0]), y: points.map((p) => p[1]), mode: "markers", name: `fastest: ${plain(label)}`,
        text: points.map((p) => `${p[4]}: ${plain(label)}${p[3]}`), hovertemplate: "%{text}, %{y:.4s}<extra></extra>", marker: { symbol: look(label).symbol, color: look(label).color, size: 10 } });
    }
    const every = sweep.sizes.length <= (narrow() ? 6 : 12) ? sweep.sizes : sweep.sizes.filter((_, k) => k % 2 === 0);
    Plotly.react("sizes", traces, with_legend(330, traces.length, {
      xaxis: { ...titled(plain(sweep.axis)), type: "log", tickvals: every.map((s) => s[0]), ticktext: every.map((s) => s[1]) },
      yaxis: { ...titled(`rate, ${plain(sweep.unit)}`), rangemode: "tozero", exponentformat: "SI" } }), config);
  }

  function draw_roofline(chosen_group) {
    const roof = data.rooflines.find((r) => r.groups.includes(chosen_group)) || null;
    at("roofline-figure").hidden = !roof;
    if (!roof) return;
    const [low, high, bottom, top] = roof.frame;
    const counts = [...new Set(roof.points.map((p) => p.n))].sort((a, b) => a - b);
    const dashes = ["solid", "dash", "dashdot", "dot", "longdash", "longdashdot"];
    const color = (limit) => limit === "memory" ? ink("faint") : limit === "host link" ? "#B07800" : "#D55E00";
    const traces = roof.lines.map(([limit, n, x, y, words]) => ({ x, y, mode: "lines", name: words, hovertemplate: `${words}<extra></extra>`,
      line: { color: color(limit), dash: dashes[counts.indexOf(n) % dashes.length], width: 1.5 } }));
    const own = roof.points.filter((p) => p.off);
    if (own.length) traces.push({ x: own.map((p) => p.x), y: own.map((p) => p.roof), mode: "markers", name: "ceiling of one problem",
      marker: { symbol: "line-ew-open", color: "#D55E00", size: 12, line: { width: 2 } }, text: own.map((p) => `${plain(p.title)}, ${plural(p.n)}: ${p.limit}`), hovertemplate: "%{text}<extra></extra>" });
    for (const label of new Set(roof.points.map((p) => p.label))) {
      const mine = roof.points.filter((p) => p.label === label);
      traces.push({ x: mine.map((p) => p.x), y: mine.map((p) => p.rate), mode: "markers", name: `fastest: ${plain(label)}`, marker: { symbol: look(label).symbol, color: look(label).color, size: 10 },
        text: mine.map((p) => `${plain(p.title)}<br>${plain(label)}, ${plural(p.n)}: ${p.words}`), hovertemplate: "%{text}<extra></extra>" });
    }
    Plotly.react("roofline", traces, with_legend(360, traces.length, {
      xaxis: { ...titled(`${narrow() ? "" : "arithmetic intensity: "}${plain(roof.unit.replace(/\/s$/, ""))} per byte of input and result`), ...logarithmic(low, high) },
      yaxis: { ...titled(`rate, ${plain(roof.unit)}`), ...logarithmic(bottom, top) } }), config);
  }

  function draw_parts(c) {
    const [scale, unit] = unit_of(c.timeline.whole || c.median);
    const share = (d) => c.share[d] === null ? "" : `<br>${(100 * c.share[d]).toFixed(1)}\u00a0% of the work`;
    const y = c.parts.map((_, d) => plain(`device ${c.devices[d]}`) + (c.slowed.includes(d) ? " \u2193" : "") + share(d));
    at("parts-of").textContent = `Where the time of each device went: ${c.told} on ${plural(c.n)}`;
    const traces = [...kinds(), ...waits()].map(([, name, color, shape], k) => ({ type: "bar", orientation: "h", name, y, x: c.parts.map((p) => (p[k] || 0) / scale),
      marker: filled(color, shape, { line: { color: ink("paper"), width: 0.5 } }), hovertemplate: `${name} %{x:.4g} ${unit}<extra>%{y}</extra>` }))
      .filter((t) => t.x.some((x) => x > 0));
    Plotly.react("parts", traces, layout(140 + 44 * y.length + room(traces.length), { xaxis: titled(`time, ${unit}`), yaxis: lanes(y),
      legend: { orientation: "h", y: 1, yanchor: "bottom", traceorder: "normal" } }), { ...config, displayModeBar: false });
  }

  function draw_timeline(group, c) {
    const t = c.timeline;
    const [scale, unit] = unit_of(t.whole);
    at("timeline-of").textContent = `Timeline of ${c.told} on ${plural(c.n)}: ${group.title}, ${time(t.whole)}`;
    at("timeline-note").textContent = t.count > t.commands.length ? `The ${t.commands.length} longest of ${t.count} commands.`
      : t.count ? "" : "The file holds no commands of this case.";
    at("timeline").hidden = at("zoom").hidden = !t.count;
    if (!t.count) return;
    const used = new Set(t.commands.map((k) => `${k[0]} ${k[1]}`));
    const name = (device, kind) => plain(`${c.devices[device]} ${kind}`);
    const labels = c.devices.flatMap((_, d) => ["upload", "compute", "download", "exchange"].filter((k) => k === "compute" || used.has(`${d} ${k}`)).map((k) => name(d, k)));
    const traces = kinds().map(([kind, , color, shape]) => {
      const mine = t.commands.filter((k) => k[1] === kind);
      return { type: "bar", orientation: "h", name: kind, legendrank: rank(kind), y: mine.map((k) => name(k[0], kind)), base: mine.map((k) => k[5] / scale), x: mine.map((k) => k[6] / scale),
        marker: filled(color, shape, { line: { color: ink("paper"), width: mine.length < 300 ? 0.6 : 0 } }),
        text: mine.map((k) => `${plain(k[3] || kind)}, slice ${k[2]}<br>from ${time(k[5])}, ${time(k[6])} long${k[4] ? `<br>${k[4].toLocaleString("en")} bytes` : ""}`),
        textposition: "none", hovertemplate: "%{text}<extra>%{y}</extra>" };
    }).filter((trace) => trace.x.length);
    for (const [state, words, color, shape] of waits()) {
      const mine = t.waits.filter((w) => w[1] === state);
      if (mine.length) traces.unshift({ type: "bar", orientation: "h", name: words, legendrank: rank(state), y: mine.map((w) => name(w[0], "compute")), base: mine.map((w) => w[2] / scale),
        x: mine.map((w) => w[3] / scale), marker: filled(color, mine.length < 300 ? shape : "", { line: { width: 0 } }), text: mine.map((w) => `${words}, ${time(w[3])}`), textposition: "none",
        hovertemplate: "%{text}<extra>%{y}</extra>" });
    }
    const shapes = t.merge[1] > t.merge[0] ? [{ type: "rect", yref: "paper", x0: t.merge[0] / scale, x1: t.merge[1] / scale, y0: 0, y1: 1, fillcolor: "#009E73",
      opacity: 0.3, line: { width: 0 } }] : [];
    if (shapes.length) traces.push({ type: "bar", name: `merge, ${time(t.merge[1] - t.merge[0])}`, x: [null], y: [labels[0]], orientation: "h", marker: { color: "#009E73", opacity: 0.4 } });
    Plotly.react("timeline", traces, with_legend(Math.max(230, 100 + 26 * labels.length), traces.length, { barmode: "overlay", dragmode: "zoom", bargap: 0.15, shapes,
      xaxis: { ...titled(`time since the sample began, ${unit}`), nticks: narrow() ? 5 : 12, range: [0, 1.01 * t.whole / scale] }, yaxis: lanes(labels) }, narrow() ? 1 : 5), config);
  }

  function zoom(how) {
    const axis = at("timeline")._fullLayout.xaxis;
    let [low, high] = axis.range;
    const c = groups[chosen.group].cases[chosen.index];
    const whole = 1.01 * c.timeline.whole / unit_of(c.timeline.whole)[0];
    const wide = high - low, middle = (low + high) / 2;
    if (how === "in") [low, high] = [middle - wide / 4, middle + wide / 4];
    if (how === "out") [low, high] = [middle - wide, middle + wide];
    if (how === "left") [low, high] = [low - wide / 2, high - wide / 2];
    if (how === "right") [low, high] = [low + wide / 2, high + wide / 2];
    if (how === "whole" || high - low >= whole) [low, high] = [0, whole];
    const off = low < 0 ? -low : high > whole ? whole - high : 0;
    Plotly.relayout("timeline", { "xaxis.range": [low + off, high + off] });
  }

  function draw_prediction() {
    const series = new Map();
    for (const g of groups) for (const c of g.cases) if (c.predicted) series.set(c.label, [...(series.get(c.label) || []), [g, c]]);
    at("prediction-figure").hidden = !series.size;
    if (!series.size) return;
    const all = [...series.values()].flatMap((found) => found.flatMap(([, c]) => [c.median, c.predicted]));
    const [scale, unit] = unit_of(Math.max(...all));
    const ends = [0.8 * Math.min(...all) / scale, 1.25 * Math.max(...all) / scale];
    const traces = [{ x: ends, y: ends, mode: "lines", name: "predicted = measured", line: { color: ink("faint"), dash: "dash" }, hoverinfo: "skip" }];
    for (const [label, found] of series) traces.push({ x: found.map(([, c]) => c.median / scale), y: found.map(([, c]) => c.predicted / scale), mode: "markers", name: plain(label),
      text: found.map(([g, c]) => `${plain(g.title)}<br>${shown(c)}, ${plural(c.n)}: ${(100 * (c.predicted / c.median - 1)).toFixed(1)} %`), hovertemplate: "%{text}<extra></extra>",
      marker: { symbol: look(label).symbol, color: look(label).color, size: 9 } });
    const scaled = (title) => ({ ...titled(title), ...(ends[1] > 20 * ends[0] ? logarithmic(...ends) : { range: ends }) });
    Plotly.react("prediction", traces, with_legend(360, traces.length, { xaxis: scaled(`measured, ${unit}`), yaxis: scaled(`predicted, ${unit}`) }), config);
  }

  function draw() {
    const group = groups[chosen.group];
    const c = group.cases[chosen.index];
    draw_scaling(group);
    draw_strategies(group, c.n);
    draw_sizes(chosen.group);
    draw_roofline(chosen.group);
    draw_parts(c);
    draw_timeline(group, c);
  }

  function choose(group, index) {
    chosen.group = group;
    chosen.index = index;
    at("problem").value = String(group);
    at("case").replaceChildren(...groups[group].cases.map((c, k) => new Option(`${c.told} on ${plural(c.n)}, ${time(c.median)}`, k, false, k === index)));
    draw();
  }

  function sort(head) {
    const column = [...head.parentNode.children].indexOf(head);
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentNode.children) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => row.children[column].dataset.key;
    const compare = (a, b) => head.dataset.kind === "number" ? a - b : a.localeCompare(b);
    const body = head.closest("table").tBodies[0];
    body.append(...[...body.rows].sort((a, b) => {  // what has no figure stays last, whichever way
      if (key(a) === "" || key(b) === "") return (key(a) === "") - (key(b) === "");
      return (up ? 1 : -1) * compare(key(a), key(b));
    }));
  }

  async function unpacked(id) {
    const packed = Uint8Array.from(atob(at(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  async function load() {
    data = JSON.parse(await unpacked("data"));
    groups = data.groups;
    const script = document.createElement("script");
    script.textContent = await unpacked("plotly");
    document.head.append(script);
  }

  function problems(drawable) {  // under the names of the files, if there are several
    const by_part = new Map();
    for (const [g, k] of drawable) by_part.set(g.part, [...(by_part.get(g.part) || []), new Option(g.title, k)]);
    return [...by_part].flatMap(([label, options]) => {
      if (!label) return options;
      const part = Object.assign(document.createElement("optgroup"), { label });
      part.append(...options);
      return part;
    });
  }

  for (const head of document.querySelectorAll("th")) head.firstChild.addEventListener("click", () => sort(head));
  const say = (why) => { at("no-charts").textContent = why; at("no-charts").hidden = false; document.documentElement.dataset.charts = "none"; };
  if (!at("plotly").textContent) return say(at("no-charts").textContent);
  if (typeof DecompressionStream === "undefined") return say("The charts need a browser of 2023 or later; words and tables do not.");
  load().then(() => {
    const drawable = groups.map((g, k) => [g, k]).filter(([g]) => g.cases.length);
    if (!drawable.length) return say("No case gave numbers, so there is nothing to draw.");
    at("charts").hidden = false;
    at("problem").append(...problems(drawable));
    at("problem").addEventListener("change", (e) => choose(Number(e.target.value), groups[Number(e.target.value)].best));
    at("case").addEventListener("change", (e) => choose(chosen.group, Number(e.target.value)));
    for (const button of at("zoom").querySelectorAll("button")) button.addEventListener("click", () => zoom(button.dataset.zoom));
    for (const pick of document.querySelectorAll(".pick")) pick.addEventListener("click", () => {
      choose(Number(pick.dataset.group), Number(pick.dataset.case));
      at("timeline-of").scrollIntoView();
    });
    const first = drawable.reduce((most, one) => one[0].work > most[0].work ? one : most);
    choose(first[1], first[0].best);
    draw_prediction();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      draw();
      draw_prediction();
    });
    document.documentElement.dataset.charts = "drawn";
  });
})();
