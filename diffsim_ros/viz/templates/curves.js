"use strict";
// Curves on canvases that zoom and pan with the mouse: no library, no network.
(() => {
  const LEFT = 62, RIGHT = 14, TOP = 24, BOTTOM = 22, PANEL = 170, FEW = 8;
  const finite = (v) => v !== null && Number.isFinite(v);
  const text = (v) => v === 0 ? "0" : Math.abs(v) < 1e-3 || Math.abs(v) >= 1e6 ? v.toExponential(2) : String(+v.toPrecision(5));

  function ticks(low, high, count) { // round numbers from low to high
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find((s) => s * power >= raw) * power, found = [];
    for (let v = Math.ceil(low / step - 1e-9); v * step <= high + 1e-9 * step; v++) found.push(+(v * step).toPrecision(12));
    return found;
  }

  function widened([low, high]) { // a range with some room, none of it empty
    if (!(low <= high)) return [0, 1];
    const room = (high - low || Math.abs(high) || 1) * 0.05;
    return [low - room, high + room];
  }

  function viewer(root) {
    const views = JSON.parse(document.getElementById(root.dataset.from).textContent);
    const find = (name) => root.querySelector("." + name);
    const pick = find("chosen"), group = find("part"), readout = find("readout"), legend = find("legend"), plots = find("plots");
    let view, panels = [], across, hidden = new Set(), drag = null, at = null;

    const map = (p, v) => p.data.log ? Math.log10(v) : v;
    const shown = (p) => p.data.lines.filter((l) => !hidden.has(l.name));
    const width = () => plots.clientWidth;
    const px = (v) => LEFT + (v - across[0]) / (across[1] - across[0]) * (width() - LEFT - RIGHT);
    const vx = (x) => across[0] + (x - LEFT) / (width() - LEFT - RIGHT) * (across[1] - across[0]);
    const py = (p, v) => TOP + (p.range[1] - v) / (p.range[1] - p.range[0]) * (PANEL - TOP - BOTTOM);
    const vy = (p, y) => p.range[1] - (y - TOP) / (PANEL - TOP - BOTTOM) * (p.range[1] - p.range[0]);

    function whole() { // the range of all lines of this group
      let low = Infinity, high = -Infinity;
      for (const p of panels) for (const l of p.data.lines) for (const v of l.x) if (finite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
      return low < high ? [low, high] : widened([low, high]);
    }
    function fitted(p) { // what the lines reach within the horizontal range
      let low = Infinity, high = -Infinity;
      for (const l of shown(p)) l.x.forEach((x, i) => {
        const y = l.y[i];
        if (finite(x) && finite(y) && x >= across[0] && x <= across[1] && (!p.data.log || y > 0)) { low = Math.min(low, map(p, y)); high = Math.max(high, map(p, y)); }
      });
      return widened([low, high]);
    }
    function refit() { for (const p of panels) if (!p.fixed) p.range = fitted(p); }
    function reset() { for (const p of panels) p.fixed = false; across = whole(); refit(); draw(); }

    function grid(p, pen, w) {
      pen.font = "11px system-ui, sans-serif"; pen.lineWidth = 1;
      pen.strokeStyle = "#e4e8ec"; pen.fillStyle = "#6b7785";
      for (const v of ticks(...across, Math.max(3, w / 110))) {
        const x = px(v); pen.textAlign = "center";
        pen.beginPath(); pen.moveTo(x, TOP); pen.lineTo(x, PANEL - BOTTOM); pen.stroke();
        pen.fillText(text(v), x, PANEL - 8);
      }
      for (const v of ticks(...p.range, 4)) {
        const y = py(p, v); pen.textAlign = "right";
        pen.beginPath(); pen.moveTo(LEFT, y); pen.lineTo(w - RIGHT, y); pen.stroke();
        pen.fillText(text(p.data.log ? 10 ** v : v), LEFT - 6, y + 4);
      }
      pen.textAlign = "left"; pen.fillStyle = "#1f2933"; pen.font = "600 13px system-ui, sans-serif";
      pen.fillText(p.data.title, LEFT, 14);
    }
    function trace(p, pen, l) {
      pen.strokeStyle = pen.fillStyle = l.colour; pen.lineWidth = 1.6; pen.setLineDash(l.kind === "dash" ? [5, 4] : []);
      let down = false; pen.beginPath();
      const seen = l.x.filter((x) => finite(x) && x >= across[0] && x <= across[1]).length, size = seen > 400 ? 1.4 : 2.4;
      l.x.forEach((x, i) => {
        const y = l.y[i], good = finite(x) && finite(y) && (!p.data.log || y > 0);
        if (!good) { down = false; return; }
        const a = px(x), b = py(p, map(p, y));
        if (l.kind === "dots") { if (x >= across[0] && x <= across[1]) { pen.moveTo(a + size, b); pen.arc(a, b, size, 0, 7); } }
        else { if (down) pen.lineTo(a, b); else pen.moveTo(a, b); down = true; }
      });
      if (l.kind === "dots") pen.fill(); else pen.stroke();
      pen.setLineDash([]);
      if (l.kind !== "dots" && seen <= FEW) l.x.forEach((x, i) => { // a few points are no curve: show where they are
        if (finite(x) && finite(l.y[i]) && (!p.data.log || l.y[i] > 0)) { pen.beginPath(); pen.arc(px(x), py(p, map(p, l.y[i])), 3, 0, 7); pen.fill(); }
      });
    }
    function draw() {
      const ratio = window.devicePixelRatio || 1, w = width();
      if (!w) return;
      for (const p of panels) {
        const c = p.canvas, pen = c.getContext("2d");
        if (c.width !== Math.round(w * ratio)) { c.width = Math.round(w * ratio); c.height = Math.round(PANEL * ratio); }
        pen.setTransform(ratio, 0, 0, ratio, 0, 0); pen.clearRect(0, 0, w, PANEL);
        grid(p, pen, w);
        pen.save(); pen.beginPath(); pen.rect(LEFT, TOP, w - LEFT - RIGHT, PANEL - TOP - BOTTOM); pen.clip();
        for (const dots of [false, true]) for (const l of shown(p)) if ((l.kind === "dots") === dots) trace(p, pen, l); // samples on top
        if (at !== null) { pen.strokeStyle = "#1f293366"; pen.lineWidth = 1; pen.beginPath(); pen.moveTo(px(at), 0); pen.lineTo(px(at), PANEL); pen.stroke(); }
        if (drag && !drag.pan && drag.x !== drag.from[0]) {
          const all = drag.panel !== p || Math.abs(drag.y - drag.from[1]) < 12; // a flat box is a range of time alone
          pen.fillStyle = "#0072b222";
          pen.fillRect(drag.from[0], all ? TOP : drag.from[1], drag.x - drag.from[0], all ? PANEL : drag.y - drag.from[1]);
        }
        pen.restore();
      }
      read();
    }
    function nearest(l, v) { // the sample of a line next to a place on the axis
      let best = -1, gap = Infinity;
      l.x.forEach((x, i) => { if (finite(x) && finite(l.y[i]) && Math.abs(x - v) < gap) { gap = Math.abs(x - v); best = i; } });
      return best;
    }
    function read() {
      if (at === null) { readout.textContent = ""; return; }
      const parts = panels.map((p) => p.data.title + ": " + shown(p).map((l) => {
        const i = nearest(l, at);
        return i < 0 ? "" : `${l.name} ${text(l.y[i])}`;
      }).filter(Boolean).join(", "));
      readout.textContent = `${view.across} ${text(at)} – ` + parts.join(" · ");
    }
    function zoom(factor, x, p, y) { // about a place; the quantity too where a panel is given
      const v = vx(x);
      across = across.map((end) => v + (end - v) * factor);
      if (p) { const u = vy(p, y); p.range = p.range.map((end) => u + (end - u) * factor); p.fixed = true; }
      refit(); draw();
    }
    function place(event, p) { const box = p.canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; }
    function listen(p) {
      const c = p.canvas;
      c.addEventListener("pointerdown", (e) => {
        const [x, y] = place(e, p);
        c.setPointerCapture(e.pointerId);
        drag = { panel: p, pan: e.shiftKey || e.button === 1, from: [x, y], x, y, across: [...across], range: [...p.range] };
        if (e.button === 1) e.preventDefault();
      });
      c.addEventListener("pointermove", (e) => {
        const [x, y] = place(e, p);
        at = x >= LEFT && x <= width() - RIGHT ? vx(x) : null;
        if (drag) {
          drag.x = x; drag.y = y;
          if (drag.pan) {
            const dx = (x - drag.from[0]) / (width() - LEFT - RIGHT) * (drag.across[1] - drag.across[0]);
            const dy = (y - drag.from[1]) / (PANEL - TOP - BOTTOM) * (drag.range[1] - drag.range[0]);
            across = drag.across.map((v) => v - dx); p.range = drag.range.map((v) => v + dy); p.fixed = true; refit();
          }
        }
        draw();
      });
      c.addEventListener("pointerup", () => {
        const d = drag; drag = null;
        if (d && !d.pan && Math.abs(d.x - d.from[0]) > 5) {
          const ends = [d.x, d.from[0]].map(vx).sort((a, b) => a - b), heights = [d.y, d.from[1]].map((y) => vy(p, y)).sort((a, b) => a - b);
          across = ends;
          if (Math.abs(d.y - d.from[1]) >= 12) { p.range = heights; p.fixed = true; }
          refit();
        }
        draw();
      });
      c.addEventListener("pointerleave", () => { if (!drag) { at = null; draw(); } });
      c.addEventListener("dblclick", reset);
      c.addEventListener("wheel", (e) => {
        if (!e.shiftKey && !e.ctrlKey) return; // the page scrolls
        e.preventDefault();
        const [x, y] = place(e, p);
        zoom(Math.exp((e.deltaY || e.deltaX) * 0.002), x, e.ctrlKey && e.shiftKey ? p : null, y);
      }, { passive: false });
    }
    function choose() {
      const chosen = view.groups[Number(group.value) || 0];
      plots.replaceChildren();
      panels = chosen.panels.map((data) => {
        const canvas = document.createElement("canvas");
        canvas.style.height = PANEL + "px";
        canvas.setAttribute("role", "img"); canvas.setAttribute("aria-label", `${chosen.name}, ${data.title}`);
        plots.append(canvas);
        return { data, canvas, range: [0, 1], fixed: false };
      });
      panels.forEach(listen);
      names(); reset();
    }
    function names() { // the legend, which hides and shows lines
      const every = new Map(panels.flatMap((p) => p.data.lines.map((l) => [l.name, l])));
      legend.replaceChildren(...[...every.values()].map((l) => {
        const button = document.createElement("button"), mark = document.createElement("i");
        button.type = "button"; mark.className = l.kind; mark.style.setProperty("--of", l.colour);
        button.append(mark, l.name); button.setAttribute("aria-pressed", String(!hidden.has(l.name)));
        button.addEventListener("click", () => { if (!hidden.delete(l.name)) hidden.add(l.name); names(); refit(); draw(); });
        return button;
      }));
      find("across").textContent = view.across;
    }
    function options(select, found) {
      select.replaceChildren(...found.map((item, i) => { const o = document.createElement("option"); o.value = i; o.textContent = item.name; return o; }));
      select.parentElement.hidden = found.length < 2;
    }
    function show() {
      const before = group.selectedOptions[0]?.textContent; // keep marker or joint from one recording to the next
      view = views[Number(pick.value) || 0];
      options(group, view.groups);
      group.value = Math.max(0, view.groups.findIndex((g) => g.name === before));
      choose();
    }
    options(pick, views);
    pick.addEventListener("change", show); group.addEventListener("change", choose);
    const middle = () => (LEFT + width() - RIGHT) / 2;
    find("in").addEventListener("click", () => zoom(0.6, middle()));
    find("out").addEventListener("click", () => zoom(1 / 0.6, middle()));
    find("all").addEventListener("click", reset);
    new ResizeObserver(draw).observe(plots);
    show();
  }
  document.querySelectorAll(".curves").forEach(viewer);
})();
