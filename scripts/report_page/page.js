// The charts and the sorting of the page that report_html.py writes. Data comes from the element #data; words, table and environment are
// in the page already. Colours are those of Okabe and Ito, as in plot_kinds.py, with patterns, marks and dashes beside them.
"use strict";
(() => {
  const colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];
  const marks = ["circle", "square", "triangle-up", "diamond", "triangle-down", "pentagon", "x"];
  const dashes = ["solid", "dash", "dashdot", "dot", "longdash", "longdashdot", "solid"];
  const kinds = { compute: ["#0072B2", ""], upload: ["#E69F00", "/"], download: ["#CC79A7", "\\"] };
  const parts = [["compute", "#0072B2", ""], ["upload", "#E69F00", "/"], ["download", "#CC79A7", "\\"], ["launch gaps", "#56B4E9", "x"],
    ["waiting for others, merge", "#BBBBBB", "."], ["no slice", "#EEEEEE", ""], ["rest", "#000000", ""]];
  const groups = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
  const chosen = { group: 0, index: 0 };

  const unit_of = (ns) => ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "us"] : [1, "ns"];
  const time = (ns) => { const [scale, unit] = unit_of(ns); return `${(ns / scale).toPrecision(3)} ${unit}`; };
  const plural = (n) => `${n} device${n === 1 ? "" : "s"}`;
  const plain = (s) => String(s).replace(/&/g, "&amp;").replace(/</g, "&lt;");  // Plotly reads a little HTML in labels
  const filled = (color, shape, more) => ({ color, pattern: { shape, bgcolor: color, fgcolor: "#000", fgopacity: 0.45, size: 6 }, ...more });
  const layout = (height, more) => ({
    height, margin: { l: 50, r: 10, t: 32, b: 45 }, font: { size: 12 }, hovermode: "closest", legend: { orientation: "h", y: -0.27, yanchor: "top" },
    plot_bgcolor: "#fff", barmode: "stack", ...more });
  const look = (k) => ({ color: colours[k % 7], mark: marks[(k + 3 * Math.floor(k / 7)) % 7], dash: dashes[(k + 2 * Math.floor(k / 7)) % 7] });
  const room = (entries) => 22 * (innerWidth < 760 ? entries : Math.ceil(entries / 2));  // of a legend below the axes
  const titled = (text) => ({ title: { text, standoff: 8 } });
  const lanes = (labels) => ({ type: "category", categoryorder: "array", categoryarray: [...labels].reverse(), automargin: true, fixedrange: true });

  function draw_scaling(group) {
    const cases = group.cases.filter((c) => c.speedup && c.strategy !== "single");
    const lines = new Map();
    for (const c of cases) lines.set(c.label, [...(lines.get(c.label) || []), c]);
    const ideal = new Map([[1, 1]]);
    for (const c of cases) if (c.ideal_speedup) ideal.set(c.n, c.ideal_speedup);
    const counts = [...new Set([1, ...cases.map((c) => c.n)])].sort((a, b) => a - b);
    at("scaling-figure").hidden = counts.length < 2;
    if (counts.length < 2) return;
    const xs = [...ideal.keys()].sort((a, b) => a - b);
    const traces = [{ x: xs, y: xs.map((x) => ideal.get(x)), name: "ideal: the devices alone, added up", mode: "lines", line: { color: "#888", dash: "dash", width: 1.5 } }];
    [...lines].forEach(([label, line], k) => traces.push({
      x: line.map((c) => c.n), y: line.map((c) => c.speedup), name: plain(label), mode: "lines+markers", text: line.map((c) => time(c.median)),
      error_y: { type: "data", symmetric: false, array: line.map((c) => c.interval ? Math.max(0, c.speedup * (c.median / c.interval[0] - 1)) : 0),
        arrayminus: line.map((c) => c.interval ? Math.max(0, c.speedup * (1 - c.median / c.interval[1])) : 0) },
      line: { color: look(k).color, dash: look(k).dash }, marker: { symbol: look(k).mark, size: 9 }, hovertemplate: "%{x} devices: %{y:.3f}, %{text}" }));
    Plotly.react("scaling", traces, layout(330 + room(traces.length), {
      xaxis: { ...titled("devices"), tickvals: counts, range: [0.8, counts[counts.length - 1] + 0.2] }, yaxis: { rangemode: "tozero" } }), config);
  }

  function draw_strategies(group, n) {
    const cases = group.cases.filter((c) => c.n === n);
    at("strategies-of").textContent = `Time by strategy on ${plural(n)}: median, 95 % interval, samples`;
    const [scale, unit] = unit_of(Math.max(...cases.map((c) => c.median)));
    const y = cases.map((c) => plain(c.label));
    const reach = cases.map((c) => Math.max(c.median, c.interval ? c.interval[1] : 0) / scale);
    const most = Math.max(...reach) * (innerWidth < 760 ? 1.6 : 1.35);  // room for the words
    const bars = { type: "bar", orientation: "h", y, x: cases.map((c) => c.median / scale), showlegend: false,
      hovertemplate: "%{y}: %{x:.4g} " + unit + "<extra></extra>", marker: { color: cases.map((c, k) => k ? "#56B4E9" : "#0072B2") },
      error_x: { type: "data", symmetric: false, color: "#000", array: cases.map((c) => c.interval ? (c.interval[1] - c.median) / scale : 0),
        arrayminus: cases.map((c) => c.interval ? (c.median - c.interval[0]) / scale : 0) } };
    const went_wrong = (c) => c.faults ? `, ${c.faults} fault${c.faults === 1 ? "" : "s"}` : "";
    const words = { type: "scatter", mode: "text", y, x: reach,
      text: cases.map((c, k) => (k ? ` ${time(c.median)}` : ` <b>best: ${time(c.median)}</b>`) + went_wrong(c)),
      textposition: "middle right", showlegend: false, hoverinfo: "skip" };
    const dots = { type: "scatter", mode: "markers", y: cases.flatMap((c) => c.samples.map(() => plain(c.label))), showlegend: false,
      x: cases.flatMap((c) => c.samples.map((t) => t / scale)), marker: { symbol: "line-ns-open", color: "#222", size: 7, opacity: 0.4 }, hoverinfo: "skip" };
    Plotly.react("strategies", [bars, dots, words], layout(Math.max(240, 90 + 30 * cases.length),
      { xaxis: { ticksuffix: ` ${unit}`, range: [0, most] }, yaxis: lanes(y) }), config);
  }

  function draw_parts(c) {
    const [scale, unit] = unit_of(c.timeline.whole || c.median);
    const y = c.parts.map((_, d) => plain(`device ${c.devices[d]}`));
    at("parts-of").textContent = `Where the time of each device went: ${c.label}, ${plural(c.n)}`;
    const traces = parts.map(([name, color, shape], k) => ({ type: "bar", orientation: "h", name, y, x: c.parts.map((p) => (p[k] || 0) / scale),
      marker: filled(color, shape, { line: { color: "#fff", width: 0.5 } }), hovertemplate: `${name} %{x:.4g} ${unit}<extra>%{y}</extra>` }))
      .filter((t) => t.x.some((x) => x > 0));
    Plotly.react("parts", traces, layout(130 + 34 * y.length + room(traces.length),
      { xaxis: { ticksuffix: ` ${unit}` }, yaxis: lanes(y), legend: { orientation: "h", y: 1, yanchor: "bottom" } }), { ...config, displayModeBar: false });
  }

  function draw_timeline(group, c) {
    const t = c.timeline;
    const [scale, unit] = unit_of(t.whole);
    at("timeline-of").textContent = `Timeline: ${group.title}, ${c.label} on ${plural(c.n)}, ${time(t.whole)}`;
    at("timeline-note").textContent = t.count > t.commands.length ? `The ${t.commands.length} longest of ${t.count} commands.` : "";
    const used = new Set(t.commands.map((k) => `${k[0]} ${k[1]}`));
    const name = (device, kind) => plain(`${c.devices[device]} ${kind}`);
    const labels = c.devices.flatMap((_, d) => ["upload", "compute", "download"].filter((k) => k === "compute" || used.has(`${d} ${k}`)).map((k) => name(d, k)));
    const states = { sync: "waiting for others, merge", idle: "no slice" };
    const traces = Object.entries(kinds).map(([kind, [color, shape]]) => {
      const mine = t.commands.filter((k) => k[1] === kind);
      return { type: "bar", orientation: "h", name: kind, y: mine.map((k) => name(k[0], kind)), base: mine.map((k) => k[5] / scale), x: mine.map((k) => k[6] / scale),
        marker: filled(color, shape, { line: { color: "#fff", width: mine.length < 300 ? 0.6 : 0 } }),
        text: mine.map((k) => `${plain(k[3] || kind)}, slice ${k[2]}<br>from ${time(k[5])}, ${time(k[6])} long${k[4] ? `<br>${k[4].toLocaleString("en")} bytes` : ""}`),
        textposition: "none", hovertemplate: "%{text}<extra>%{y}</extra>" };
    }).filter((trace) => trace.x.length);
    const waits = t.waits.filter((w) => w[3] > 0);
    if (waits.length) traces.unshift({ type: "bar", orientation: "h", name: "waiting", y: waits.map((w) => name(w[0], "compute")), base: waits.map((w) => w[2] / scale),
      x: waits.map((w) => w[3] / scale), marker: { color: "#DDDDDD" }, text: waits.map((w) => `${states[w[1]] || w[1]}, ${time(w[3])}`), textposition: "none",
      hovertemplate: "%{text}<extra>%{y}</extra>" });
    const shapes = t.merge[1] > t.merge[0] ? [{ type: "rect", yref: "paper", x0: t.merge[0] / scale, x1: t.merge[1] / scale, y0: 0, y1: 1, fillcolor: "#009E73",
      opacity: 0.3, line: { width: 0 } }] : [];
    if (shapes.length) traces.push({ type: "bar", name: `merge, ${time(t.merge[1] - t.merge[0])}`, x: [null], y: [labels[0]], orientation: "h", marker: { color: "#009E73", opacity: 0.4 } });
    Plotly.react("timeline", traces, layout(Math.max(280, 150 + 26 * labels.length), { barmode: "overlay", dragmode: "zoom", bargap: 0.15, shapes,
      xaxis: { ticksuffix: ` ${unit}`, range: [0, 1.01 * t.whole / scale] }, yaxis: lanes(labels),
      legend: { orientation: "h", y: 1, yanchor: "bottom" }, margin: { l: 50, r: 10, t: 60, b: 45 } }), config);
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
    const predicted = groups.filter((g) => g.cases.some((c) => c.predicted));
    const series = new Map();  // of more problems than there are marks, only suite and mode are told apart
    for (const g of predicted) {
      const name = predicted.length <= marks.length ? g.title : g.kind;
      series.set(name, [...(series.get(name) || []), ...g.cases.filter((c) => c.predicted)]);
    }
    const found = [...series];
    at("prediction-figure").hidden = !found.length;
    if (!found.length) return;
    const all = found.flatMap(([, cases]) => cases.flatMap((c) => [c.median, c.predicted]));
    const [scale, unit] = unit_of(Math.max(...all));
    const ends = [0.8 * Math.min(...all) / scale, 1.25 * Math.max(...all) / scale];
    const traces = [{ x: ends, y: ends, mode: "lines", name: "right", line: { color: "#888", dash: "dash" }, hoverinfo: "skip" }];
    found.forEach(([title, cases], k) => traces.push({ x: cases.map((c) => c.median / scale), y: cases.map((c) => c.predicted / scale), mode: "markers", name: plain(title),
      text: cases.map((c) => `${plain(c.label)}, ${plural(c.n)}: ${(100 * (c.predicted / c.median - 1)).toFixed(1)} %`), hovertemplate: "%{text}",
      marker: { symbol: `${look(k).mark}-open`, color: look(k).color, size: 9, line: { width: 2 } } }));
    const axis = (title) => ({ ...titled(title), type: ends[1] > 20 * ends[0] ? "log" : "linear", ...(ends[1] > 20 * ends[0] ? { dtick: ends[1] > 1000 * ends[0] ? 1 : "D2" } : {}) });
    Plotly.react("prediction", traces, layout(360 + room(traces.length), { xaxis: axis(`measured, ${unit}`), yaxis: axis(`predicted, ${unit}`) }), config);
  }

  function draw() {
    const group = groups[chosen.group];
    const c = group.cases[chosen.index];
    draw_scaling(group);
    draw_strategies(group, c.n);
    draw_parts(c);
    draw_timeline(group, c);
  }

  function choose(group, index) {
    chosen.group = group;
    chosen.index = index;
    at("problem").value = String(group);
    at("case").replaceChildren(...groups[group].cases.map((c, k) => new Option(`${c.label} on ${plural(c.n)}, ${time(c.median)}`, k, false, k === index)));
    draw();
  }

  function sort(head) {
    const column = [...head.parentNode.children].indexOf(head);
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentNode.children) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => row.children[column].dataset.key;
    const compare = (a, b) => head.dataset.kind === "number" ? a - b : a.localeCompare(b);
    const body = document.querySelector("tbody");
    body.append(...[...body.rows].sort((a, b) => {  // what has no figure stays last, whichever way
      if (key(a) === "" || key(b) === "") return (key(a) === "") - (key(b) === "");
      return (up ? 1 : -1) * compare(key(a), key(b));
    }));
  }

  async function load_plotly() {
    const packed = Uint8Array.from(atob(at("plotly").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  }

  for (const head of document.querySelectorAll("th")) head.firstChild.addEventListener("click", () => sort(head));
  const drawable = groups.map((g, k) => [g, k]).filter(([g]) => g.cases.length);
  const say = (why) => { at("no-charts").textContent = why; at("no-charts").hidden = false; document.documentElement.dataset.charts = "none"; };
  if (!drawable.length) return say("No case gave numbers, so there is nothing to draw.");
  if (typeof DecompressionStream === "undefined") return say("The charts need a browser of 2023 or later; words and tables do not.");
  load_plotly().then(() => {
    at("charts").hidden = false;
    at("problem").append(...drawable.map(([g, k]) => new Option(g.title, k)));
    at("problem").addEventListener("change", (e) => choose(Number(e.target.value), groups[Number(e.target.value)].best));
    at("case").addEventListener("change", (e) => choose(chosen.group, Number(e.target.value)));
    for (const button of at("zoom").querySelectorAll("button")) button.addEventListener("click", () => zoom(button.dataset.zoom));
    for (const pick of document.querySelectorAll(".pick")) pick.addEventListener("click", () => {
      choose(Number(pick.dataset.group), Number(pick.dataset.case));
      at("timeline-of").scrollIntoView();
    });
    choose(drawable[0][1], drawable[0][0].best);
    draw_prediction();
    document.documentElement.dataset.charts = "drawn";
  });
})();
