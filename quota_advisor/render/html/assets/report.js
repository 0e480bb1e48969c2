"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // Filters: rows and panels that match nothing of what is asked for are left out.
  const form = document.getElementById("filters");
  const items = all(".item");
  const texts = new Map(items.map((item) => [item, item.textContent.toLowerCase()]));
  const filter = () => {
    const words = document.getElementById("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const boxes = all("input[name=severity]", form);
    const severities = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const select = document.getElementById("kind");
    const kind = select ? select.value : "";
    let shown = 0, rows = 0;
    for (const item of items) {
      const fits = words.every((word) => texts.get(item).includes(word))
        && (!boxes.length || severities.has(item.dataset.severity))
        && (!kind || item.dataset.kind === kind);
      item.classList.toggle("out", !fits);
      if (item.tagName === "TR") { rows += 1; shown += fits ? 1 : 0; }
    }
    document.getElementById("shown").textContent = `${shown} of ${rows} shown`;
  };
  if (form) {
    form.hidden = false;
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    filter();
  }

  // Commands are there to be copied.
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  for (const code of all(".step code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy: ${code.textContent}`);
    button.addEventListener("click", async () => {
      await copy(code.textContent);
      button.textContent = "Copied";
      button.focus();
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    code.after(button);
  }

  // Plots are made when they come into sight, or all of them for print.
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const made = new Map();
  const number = (value) => value == null ? "" : +value.toPrecision(4) + "";
  const axis = (more) => ({
    stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 }, ...more,
  });
  const heldBack = (chart) => (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.fillStyle = colour("--held");
    const half = chart.step / 2;
    chart.held.forEach((held, index) => {
      if (!held) return;
      const left = plot.valToPos(chart.x[index] - half, "x", true);
      const right = plot.valToPos(chart.x[index] + half, "x", true);
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
    });
    ctx.restore();
  };
  const options = (chart, width) => ({
    width, height: Math.min(260, Math.max(190, width * 0.36)),
    cursor: { drag: { x: true, y: false } },
    legend: { live: true },
    scales: {
      x: { time: false, range: chart.x.length > 1 ? undefined : [chart.x[0] - 1, chart.x[0] + 1] },
      y: chart.log ? { distr: 3 } : { range: (plot, low, high) => [0, (high || 1) * 1.08] },
    },
    axes: [
      axis({ label: chart.xtitle, labelSize: 22, size: 34, splits: chart.ticks ? () => chart.ticks : undefined,
             values: (plot, values) => values.map((v) => chart.names ? chart.names[chart.ticks.indexOf(v)] ?? "" : number(v)) }),
      axis({ label: chart.ytitle, labelSize: 22, size: 58, values: (plot, values) => values.map((v) => v == null ? "" : number(v)) }),
    ],
    series: [
      { label: chart.xname, value: (plot, v) => number(v) },
      ...chart.series.map((one) => ({
        label: one.name, stroke: colour(one.colour), width: one.dash ? 1.6 : 2, dash: one.dash ? [6, 5] : undefined,
        points: { show: Boolean(chart.ticks) && !one.dash, size: 7 }, spanGaps: false, value: (plot, v) => number(v),
        paths: one.steps ? uPlot.paths.stepped({ align: 0 }) : undefined,
      })),
    ],
    hooks: { drawAxes: chart.held ? [heldBack(chart)] : [] },
  });
  const draw = (place) => {
    const chart = charts[place.dataset.chart];
    const width = Math.floor(place.clientWidth);
    if (!chart || width < 50) return;
    made.get(place)?.destroy();
    made.set(place, new uPlot(options(chart, width), [chart.x, ...chart.series.map((one) => one.values)], place));
  };
  const places = all(".chart");
  if (places.length) {
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting && !made.has(entry.target)) draw(entry.target);
      }
    }, { rootMargin: "400px" });
    places.forEach((place) => seen.observe(place));
    const redraw = () => [...made.keys()].forEach(draw);
    let timer = 0;
    let last = window.innerWidth;
    addEventListener("resize", () => {
      if (window.innerWidth === last) return;
      last = window.innerWidth;
      clearTimeout(timer);
      timer = setTimeout(redraw, 120);
    });
    addEventListener("beforeprint", () => places.forEach((place) => { if (!made.has(place)) draw(place); }));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    new MutationObserver(redraw).observe(root, { attributeFilter: ["data-theme"] });
  }

  // Light, dark, or as the system has it.
  const theme = document.getElementById("theme");
  const order = ["auto", "light", "dark"];
  let now = 0;
  theme.hidden = false;
  theme.addEventListener("click", () => {
    now = (now + 1) % order.length;
    theme.textContent = `Theme: ${order[now]}`;
    if (order[now] === "auto") delete root.dataset.theme;
    else root.dataset.theme = order[now];
  });
})();
