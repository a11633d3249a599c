"use strict";
// A small 3D view on a 2D canvas: boxes and spheres in perspective, no library, no network.
(() => {
  const motions = JSON.parse(document.getElementById("motions").textContent);
  const root = document.getElementById("player");
  const find = (name) => root.querySelector("." + name);
  const view = find("view"), strip = find("strip"), slider = find("time"), which = find("which");
  const FOV = 30 * Math.PI / 180, LIGHT = [-0.42, -0.55, 0.72], FORCE = 0.008; // metres per newton
  const EDGES = [], FACES = [[1, 3, 7, 5], [0, 4, 6, 2], [2, 6, 7, 3], [0, 1, 5, 4], [4, 5, 7, 6], [0, 2, 3, 1]];
  for (let b = 0; b < 3; b++) for (let i = 0; i < 8; i++) if (!(i & 1 << b)) EDGES.push([i, i | 1 << b]);
  const show = { paths: true, residuals: true, forces: true };
  let motion, time = 0, playing = false, last = 0, home, eye, hold = 0;

  // vectors, quaternions (x, y, z, w)
  const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const unit = (a) => { const n = Math.hypot(...a) || 1; return a.map((x) => x / n); };
  const turn = (q, v) => {
    const u = [q[0], q[1], q[2]], t = cross(u, v).map((x) => 2 * x);
    return add(add(v, t, q[3]), cross(u, t));
  };
  const mix = (a, b, s) => a.map((x, i) => x + s * (b[i] - x));
  const between = (q, r, s) => unit(mix(q, q.reduce((d, x, i) => d + x * r[i], 0) < 0 ? r.map((x) => -x) : r, s));
  const tint = (hex, level, alpha = 1) => {
    const c = [1, 3, 5].map((i) => Math.min(255, Math.round(parseInt(hex.slice(i, i + 2), 16) * level)));
    return `rgba(${c},${alpha})`;
  };

  function frame(at) { // the two frames around a time, and the share of the later one
    const t = motion.t;
    let low = 0, high = t.length - 1;
    while (high - low > 1) { const mid = low + high >> 1; if (t[mid] <= at) low = mid; else high = mid; }
    const span = t[high] - t[low];
    return [low, high, span > 0 ? Math.min(1, Math.max(0, (at - t[low]) / span)) : 0];
  }
  function pose(body) {
    const [a, b, s] = frame(time);
    return { p: mix(body.p[a], body.p[b], s), q: between(body.q[a], body.q[b], s) };
  }
  const corners = (body, at) => Array.from({ length: 8 }, (_, i) =>
    add(at.p, turn(at.q, body.size.map((e, axis) => (i >> axis & 1 ? 0.5 : -0.5) * e))));

  // camera
  function reset() {
    const all = motion.bodies.flatMap((b) => b.p), low = [0, 1, 2].map((i) => Math.min(...all.map((p) => p[i])));
    const high = [0, 1, 2].map((i) => Math.max(...all.map((p) => p[i])));
    const size = Math.max(...motion.bodies.map((b) => Math.hypot(...b.size)), 0.01);
    home = { target: mix(low, high, 0.5), reach: 0.5 * Math.hypot(...add(high, low, -1)) + 0.75 * size };
    eye = { azimuth: -0.95, height: 0.36, far: home.reach / Math.sin(FOV / 2) * 0.74 };
  }
  let axes, centre, focal, shift;
  function aim(width, height) {
    const c = Math.cos(eye.height), back = [c * Math.cos(eye.azimuth), c * Math.sin(eye.azimuth), Math.sin(eye.height)];
    const right = unit(cross([0, 0, 1], back));
    axes = [right, cross(back, right), back];
    centre = add(home.target, back, eye.far);
    focal = 0.5 * Math.min(height, width) / Math.tan(FOV / 2);
    shift = [width / 2, height / 2];
  }
  function project(x) { // pixels, and depth in metres
    const d = add(x, centre, -1), depth = Math.max(1e-3, -dot(d, axes[2]));
    return [shift[0] + focal * dot(d, axes[0]) / depth, shift[1] - focal * dot(d, axes[1]) / depth, depth];
  }

  function canvas(element) { // sized to the screen's pixels
    const ratio = window.devicePixelRatio || 1, box = element.getBoundingClientRect();
    if (element.width !== Math.round(box.width * ratio) || element.height !== Math.round(box.height * ratio)) {
      element.width = Math.round(box.width * ratio); element.height = Math.round(box.height * ratio);
    }
    const pen = element.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, box.width, box.height);
    pen.lineJoin = pen.lineCap = "round";
    return [pen, box.width, box.height];
  }
  function line(pen, points, style, width, dash = []) {
    pen.beginPath();
    points.forEach((p, i) => { const [x, y] = project(p); if (i) pen.lineTo(x, y); else pen.moveTo(x, y); });
    pen.strokeStyle = style; pen.lineWidth = width; pen.setLineDash(dash); pen.stroke(); pen.setLineDash([]);
  }
  function fill(pen, pixels, style) {
    pen.beginPath();
    pixels.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath(); pen.fillStyle = style; pen.fill();
  }
  function hull(points) { // convex hull of pixels
    const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]), side = (list) => {
      const out = [];
      for (const p of list) {
        while (out.length > 1 && (out.at(-1)[0] - out.at(-2)[0]) * (p[1] - out.at(-2)[1])
          <= (out.at(-1)[1] - out.at(-2)[1]) * (p[0] - out.at(-2)[0])) out.pop();
        out.push(p);
      }
      return out.slice(0, -1);
    };
    return [...side(sorted), ...side(sorted.reverse())];
  }

  function ground(pen, plane) { // a grid that fades with the distance from the target
    const normal = turn(plane.q, [0, 0, 1]), u = turn(plane.q, [1, 0, 0]), v = turn(plane.q, [0, 1, 0]);
    const off = add(home.target, plane.p, -1), at = [dot(off, u), dot(off, v)];
    if (dot(normal, add(centre, plane.p, -1)) <= 0) return;
    const cell = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10].find((c) => home.reach / c < 4) || 50, n = 12;
    const near = at.map((x) => Math.round(x / cell)), place = (i, j) => add(add(plane.p, u, i * cell), v, j * cell);
    for (let i = -n; i <= n; i++) for (let j = -n; j < n; j++) {
      const strength = 1 - Math.hypot(i, j + 0.5) / n;
      if (strength <= 0) continue;
      const style = `rgba(90,105,125,${0.33 * strength})`;
      line(pen, [place(near[0] + i, near[1] + j), place(near[0] + i, near[1] + j + 1)], style, 1);
      line(pen, [place(near[0] + j, near[1] + i), place(near[0] + j + 1, near[1] + i)], style, 1);
    }
  }
  function shadow(pen, points, alpha) { // on z = 0
    const flat = points.map((p) => add(p, LIGHT, -Math.max(p[2], 0) / LIGHT[2])).map((p) => [p[0], p[1], 0]);
    pen.filter = "blur(3px)";
    fill(pen, hull(flat.map(project)), `rgba(30,40,55,${alpha})`);
    pen.filter = "none";
  }
  function box(pen, body, at) {
    const x = corners(body, at), pixels = x.map(project), front = FACES.map((f) => {
      const normal = unit(cross(add(x[f[1]], x[f[0]], -1), add(x[f[3]], x[f[0]], -1)));
      return { f, normal, seen: dot(normal, add(centre, x[f[0]], -1)) > 0 };
    });
    for (const { f, normal, seen } of front) {
      if (!seen) continue;
      const level = 0.62 + 0.42 * Math.max(0, dot(normal, LIGHT)) + 0.1 * normal[2];
      fill(pen, f.map((i) => pixels[i]), tint(body.colour, body.ghost ? 1 : level, body.ghost ? 0.14 : 1));
    }
    for (const [a, b] of EDGES) {
      const seen = front.some(({ f, seen: s }) => s && f.includes(a) && f.includes(b));
      if (seen) line(pen, [x[a], x[b]], tint(body.colour, body.ghost ? 0.88 : 0.5), body.ghost ? 2.2 : 1.4);
      else if (body.ghost) line(pen, [x[a], x[b]], tint(body.colour, 0.88, 0.55), 1, [4, 4]);
    }
  }
  function ball(pen, body, at) {
    const [x, y, depth] = project(at.p), r = Math.max(2.5, 0.5 * body.size[0] * focal / depth);
    const paint = pen.createRadialGradient(x - 0.35 * r, y - 0.45 * r, 0.1 * r, x, y, r);
    paint.addColorStop(0, tint(body.colour, 1.5, body.ghost ? 0.3 : 1));
    paint.addColorStop(1, tint(body.colour, 0.62, body.ghost ? 0.3 : 1));
    pen.beginPath(); pen.arc(x, y, r, 0, 2 * Math.PI); pen.fillStyle = paint; pen.fill();
    for (const [a, b] of [[[1, 0, 0], [0, 1, 0]], [[0, 1, 0], [0, 0, 1]]]) { // two painted rings show the spin
      const ring = Array.from({ length: 49 }, (_, i) => turn(at.q, add(a.map((c) => c * Math.cos(i * Math.PI / 24)), b, Math.sin(i * Math.PI / 24))));
      for (let i = 0; i < 48; i++) {
        const p = add(at.p, ring[i], 0.5 * body.size[0]), s = add(at.p, ring[i + 1], 0.5 * body.size[0]);
        if (dot(ring[i], add(centre, p, -1)) > 0) line(pen, [p, s], tint(body.colour, 0.45, 0.8), 1.3);
      }
    }
  }
  function vertices(body) { // in the world, of a soft body between two frames
    if (body.local) { const at = pose(body); return body.local.map((x) => add(at.p, turn(at.q, x))); }
    const [a, b, s] = frame(time), flat = mix(body.v[a], body.v[b], s), found = [];
    for (let i = 0; i < flat.length; i += 3) found.push(flat.slice(i, i + 3));
    return found;
  }
  function mesh(pen, body) { // faces from back to front; a sheet shows both of its sides
    const x = vertices(body), pixels = x.map(project), faces = [];
    for (const f of body.f) {
      let normal = unit(cross(add(x[f[1]], x[f[0]], -1), add(x[f[2]], x[f[0]], -1)));
      if (dot(normal, add(centre, x[f[0]], -1)) <= 0) {
        if (!body.sheet) continue;
        normal = normal.map((c) => -c);
      }
      faces.push([pixels[f[0]][2] + pixels[f[1]][2] + pixels[f[2]][2], f, normal]);
    }
    faces.sort((a, b) => b[0] - a[0]);
    for (const [, f, normal] of faces) {
      const level = 0.62 + 0.42 * Math.max(0, dot(normal, LIGHT)) + 0.1 * normal[2];
      const paint = tint(body.colour, level, body.ghost ? 0.3 : 1);
      fill(pen, f.map((i) => pixels[i]), paint);
      if (!body.ghost) { pen.strokeStyle = paint; pen.lineWidth = 0.7; pen.stroke(); } // no gaps between faces
    }
    for (const [a, b] of body.l) line(pen, [x[a], x[b]], tint(body.colour, 0.9), 2.4);
  }
  function arrow(pen, from, force) {
    const scale = Math.min(FORCE, 0.8 * home.reach / Math.hypot(...force)); // an impact must not fill the view
    const to = add(from, force, scale), [x, y] = project(from), [u, v] = project(to), long = Math.hypot(u - x, v - y);
    if (long < 3) return;
    const [a, b] = [(u - x) / long, (v - y) / long], head = Math.min(10, long);
    line(pen, [from, add(from, force, scale * Math.max(0, 1 - 0.7 * head / long))], "#009e73", 3);
    fill(pen, [[u, v], [u - head * a - 0.45 * head * b, v - head * b + 0.45 * head * a],
      [u - head * a + 0.45 * head * b, v - head * b - 0.45 * head * a]], "#009e73");
  }

  function draw() {
    const [pen, width, height] = canvas(view), now = frame(time), index = now[2] < 0.5 ? now[0] : now[1];
    aim(width, height);
    (motion.planes || []).forEach((plane) => ground(pen, plane));
    const placed = motion.bodies.map((body) => ({ body, at: pose(body) }));
    const level = (motion.planes || []).some((p) => p.p[2] === 0 && Math.abs(turn(p.q, [0, 0, 1])[2]) > 0.999);
    if (level) for (const { body, at } of placed) shadow(pen, body.kind === "mesh" ? vertices(body) : corners(body, at), body.ghost ? 0.1 : 0.26);
    if (show.paths) for (const { body } of placed) {
      if (body.still) continue;
      line(pen, body.p, tint(body.colour, 1, 0.22), 2);
      line(pen, [...body.p.slice(0, now[0] + 1), pose(body).p], tint(body.colour, 1, 0.9), 2);
    }
    placed.sort((a, b) => a.body.ghost - b.body.ghost || dot(add(a.at.p, b.at.p, -1), axes[2]));
    for (const { body, at } of placed) (body.kind === "box" ? box : body.kind === "mesh" ? mesh : ball)(pen, body, at);
    const [ghost, solid] = [placed.find((p) => p.body.ghost), placed.find((p) => !p.body.ghost)];
    if (show.residuals && ghost && solid) {
      const ends = corners(solid.body, solid.at);
      corners(ghost.body, ghost.at).forEach((p, i) => line(pen, [p, ends[i]], "rgba(200,40,70,.75)", 1.2));
    }
    if (show.forces) (motion.forces[index] || []).forEach((f) => arrow(pen, f.slice(0, 3), f.slice(3)));
    find("readout").innerHTML = motion.errors.map((e) => `${e.label} <b>${e.value[index].toFixed(1)}</b>`).join("<br>");
    find("clock").textContent = motion.loop ? `${(360 * time / motion.t.at(-1)).toFixed(0)}°` : `${time.toFixed(2)} s`;
    slider.value = 1000 * time / motion.t.at(-1);
    chart();
  }
  function chart() { // errors over time with a cursor; click to jump
    if (!motion.errors.length) { strip.style.display = "none"; return; }
    strip.style.display = "";
    const [pen, width, height] = canvas(strip), end = motion.t.at(-1), half = width / motion.errors.length;
    motion.errors.forEach((error, n) => {
      const top = Math.max(...error.value, 1e-9), left = n * half + 18, wide = half - 36;
      const x = (t) => left + wide * t / end, y = (v) => height - 12 - (height - 36) * v / top;
      pen.beginPath(); pen.moveTo(x(0), y(0));
      error.value.forEach((v, i) => pen.lineTo(x(motion.t[i]), y(v)));
      pen.lineTo(x(end), y(0)); pen.closePath(); pen.fillStyle = "rgba(0,114,178,.16)"; pen.fill();
      pen.beginPath(); error.value.forEach((v, i) => pen[i ? "lineTo" : "moveTo"](x(motion.t[i]), y(v)));
      pen.strokeStyle = "#0072b2"; pen.lineWidth = 1.6; pen.stroke();
      pen.beginPath(); pen.moveTo(x(time), 20); pen.lineTo(x(time), height - 10); pen.strokeStyle = "#1f2933"; pen.lineWidth = 1; pen.stroke();
      pen.fillStyle = "#6b7785"; pen.font = "12px system-ui, sans-serif";
      pen.fillText(`${error.label}, up to ${top.toPrecision(3)}`, left, 14);
    });
  }

  function tick(stamp) {
    if (!playing) return;
    const end = motion.t.at(-1), speed = Number(find("speed").value);
    if (hold > 0) { hold -= stamp - last; if (hold <= 0) time = 0; }
    else {
      time += speed * (stamp - last) / 1000;
      if (time >= end && motion.loop) time %= end;
      else if (time >= end) { time = end; hold = 900; }
    }
    last = stamp;
    draw();
    requestAnimationFrame(tick);
  }
  function play(on) {
    playing = on; hold = 0;
    find("play").classList.toggle("on", on);
    if (on) { if (time >= motion.t.at(-1)) time = 0; last = performance.now(); requestAnimationFrame(tick); } else draw();
  }
  function choose(index) {
    motion = motions[index]; time = 0; hold = 0;
    find("legend").innerHTML = motion.bodies.filter((b) => !b.still).map((b) => `<div><i style="background:${tint(b.colour, 1, b.ghost ? 0.65 : 1)}"></i></div>`).join("");
    motion.bodies.filter((b) => !b.still).forEach((b, i) => find("legend").children[i].append(b.name));
    reset(); draw();
  }

  motions.forEach((m, i) => which.add(new Option(m.name, i)));
  const kinds = { paths: "paths", residuals: "residuals", forces: "contact forces" };
  for (const [key, label] of Object.entries(kinds)) {
    if (key === "forces" && !motions.some((m) => m.forces.some((f) => f.length))) continue;
    if (key === "residuals" && !motions.some((m) => m.bodies.some((b) => b.ghost))) continue;
    const tick = document.createElement("input"), text = document.createElement("label");
    tick.type = "checkbox"; tick.checked = show[key];
    tick.addEventListener("change", () => { show[key] = tick.checked; draw(); });
    text.append(tick, " " + label); find("toggles").append(text);
  }
  which.addEventListener("change", () => choose(Number(which.value)));
  which.parentElement.style.display = motions.length > 1 ? "" : "none";
  find("play").addEventListener("click", () => play(!playing));
  slider.addEventListener("input", () => {
    const share = slider.value / 1000; // read first: drawing moves the slider to the present time
    play(false); time = share * motion.t.at(-1); draw();
  });
  strip.addEventListener("click", (event) => {
    const half = strip.clientWidth / motion.errors.length, x = event.offsetX % half;
    play(false); time = Math.min(1, Math.max(0, (x - 18) / (half - 36))) * motion.t.at(-1); draw();
  });
  let drag = null;
  view.tabIndex = 0;
  view.addEventListener("pointerdown", (e) => { drag = [e.clientX, e.clientY]; view.setPointerCapture(e.pointerId); });
  view.addEventListener("pointermove", (e) => {
    if (!drag) return;
    eye.azimuth -= 0.008 * (e.clientX - drag[0]);
    eye.height = Math.min(1.5, Math.max(0.02, eye.height + 0.006 * (e.clientY - drag[1])));
    drag = [e.clientX, e.clientY]; draw();
  });
  view.addEventListener("pointerup", () => { drag = null; });
  view.addEventListener("pointercancel", () => { drag = null; });
  view.addEventListener("dblclick", () => { reset(); draw(); });
  view.addEventListener("wheel", (e) => {
    if (!e.shiftKey) return;
    e.preventDefault();
    eye.far = Math.min(20 * home.reach, Math.max(1.5 * home.reach, eye.far * Math.exp(0.0015 * (e.deltaY || e.deltaX)))); draw();
  }, { passive: false });
  root.addEventListener("keydown", (e) => {
    if (/SELECT|INPUT|BUTTON/.test(e.target.tagName)) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (e.key === " ") play(!playing);
    else if (step) { play(false); time = motion.t[Math.min(motion.t.length - 1, Math.max(0, frame(time)[0] + step))]; draw(); }
    else return;
    e.preventDefault();
  });
  window.addEventListener("resize", draw);
  choose(0);
  time = 0.4 * motion.t.at(-1); // paused where something can be seen
  draw();
  window.diffsimPlayer = { at: (share) => { play(false); time = share * motion.t.at(-1); draw(); }, choose: (i) => { which.value = i; choose(i); } };
})();
