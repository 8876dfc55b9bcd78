// Draws the charts of the page from its data, all with the same axis of time.
// `html/island.rs` says what the numbers are. Times in here are units of the data since the first thing shown.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const find = (id) => document.getElementById(id);
  const charts = find("charts");
  const tip = find("tip");
  const themes = ["auto", "light", "dark"];
  let colors = {};

  // ---- the theme -------------------------------------------------------------------------------------------------

  const stored = (value) => {
    // Pages out of a file may not store anything in some browsers.
    try {
      if (value !== undefined) localStorage.setItem("polyhaul-theme", value);
      return localStorage.getItem("polyhaul-theme");
    } catch {
      return value;
    }
  };
  const useTheme = (name) => {
    if (name === "auto") delete root.dataset.theme;
    else root.dataset.theme = name;
    find("theme").textContent = "Theme: " + name;
    readColors();
    redraw();
  };
  const readColors = () => {
    const style = getComputedStyle(root);
    const get = (name) => style.getPropertyValue("--" + name).trim();
    colors = { phases: data.phases.map((_, index) => get("p" + index)) };
    for (const name of ["ground", "panel", "ink", "soft", "line", "mark", "work", "call", "flag"]) {
      colors[name] = get(name);
    }
  };

  // ---- words -----------------------------------------------------------------------------------------------------

  const digits = (value) => (value < 9.995 ? +value.toFixed(2) : value < 99.95 ? +value.toFixed(1) : Math.round(value));
  const scaled = (value, units) => {
    let unit = 0;
    while (value >= 999.5 && unit + 1 < units.length) [value, unit] = [value / 1000, unit + 1];
    return (unit ? digits(value) : Math.round(value)) + " " + units[unit];
  };
  const bytes = (value) => scaled(value, ["B", "kB", "MB", "GB", "TB", "PB"]);
  const rate = (value) => bytes(value) + "/s";
  const timeUnits = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const time = (units) => {
    const ns = units * data.unit;
    const [scale, name] = timeUnits.find(([scale]) => ns >= 0.9995 * scale) || [1, "ns"];
    return digits(ns / scale) + " " + name;
  };
  // A mark of the axis: all marks in the unit and with the decimals that their step needs.
  const markText = (at, step) => {
    const [scale, name] = timeUnits.find(([scale]) => Math.max(at, step) * data.unit >= 0.9995 * scale) || [1, "ns"];
    const decimals = Math.max(0, -Math.floor(Math.log10((step * data.unit) / scale) + 1e-9));
    return ((at * data.unit) / scale).toFixed(Math.min(decimals, 9)) + " " + name;
  };
  const niceStep = (rough) => {
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * [1, 2, 5, 10].find((digit) => digit * power >= rough);
  };

  // ---- the data --------------------------------------------------------------------------------------------------

  // Bars of a level: when they begin and end, and the rest of each.
  const unpack = (flat) => {
    const count = flat.length / 5;
    const level = { begin: new Float64Array(count), end: new Float64Array(count), rest: flat };
    for (let i = 0, at = 0; i < count; i++) {
      level.begin[i] = at += flat[5 * i];
      level.end[i] = at += flat[5 * i + 1];
    }
    return level;
  };
  const rows = data.rows.map((levels) => levels.map(unpack));
  // The first place in a rising list whose value is at least `value`.
  const lowest = (list, value) => {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] < value) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  // What two samples, at least `apart` from each other, say of the time between them: per second (`scale` 1) or per
  // time that passed.
  const between = (values, scale, apart) => {
    const at = data.samples.at;
    const points = [];
    const end = at[at.length - 1];
    for (let i = 1, last = 0; i < at.length; i++) {
      const passed = at[i] - at[last];
      // What is left at the end is part of the last step.
      if (passed > 0 && at[i] < end && Math.min(passed, end - at[i]) < apart) continue;
      if (passed > 0) points.push([at[last], at[i], ((values[i] - values[last]) / passed) * scale]);
      last = i;
    }
    return points;
  };
  const second = 1e9 / data.unit;
  const stepped = (values, scale) => values.map((value, i) => [i * data.steps.step, (i + 1) * data.steps.step, value * scale]);
  const perSecond = (values) => stepped(values, second / data.steps.step);
  const grew = (values) => values.length > 1 && values[values.length - 1] > values[0];
  // Systems count the time of cores in ticks of some milliseconds, which over 5 ms are a jagged line.
  const cpu = between(data.samples.cpu, 1, Math.min(0.04 * second, data.length / 20));
  const series = {
    cpu: {
      areas: [["work", "computing", stepped(data.steps.computing, 0.01)], ["call", "reading and writing", stepped(data.steps.calling, 0.01)]],
      lines: [["ink", "cores in use", cpu]],
      words: (value) => digits(value) + "",
      least: Math.max(1, data.wanted),
    },
    read: {
      areas: [["call", "calls", perSecond(data.steps.read)]],
      lines: grew(data.samples.read) ? [["ink", "disk", between(data.samples.read, second, 0)]] : [],
      words: rate,
    },
    write: {
      areas: [["phase1", "calls", perSecond(data.steps.write)]],
      lines: grew(data.samples.write) ? [["ink", "disk", between(data.samples.write, second, 0)]] : [],
      words: rate,
    },
    memory: {
      areas: [["phase10", "resident", data.samples.at.slice(1).map((at, i) => [data.samples.at[i], at, data.samples.memory[i + 1]])]],
      lines: [],
      words: bytes,
    },
  };
  const colorOf = (name) => (name.startsWith("phase") ? colors.phases[+name.slice(5)] : colors[name]);

  // ---- drawing ---------------------------------------------------------------------------------------------------

  const view = { from: 0, to: Math.max(data.length, 1) };
  const font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
  const TOP = 20;
  const BOTTOM = 24;
  let picked = null;
  let pointer = null;
  let printing = false;
  // How wide the widest label at the left is: all charts leave the same room, since they have one axis.
  let widest = 0;

  const frame = (canvas) => {
    // What is printed is as wide as paper, so that its text is not made small.
    const width = printing ? Math.min(canvas.clientWidth, 700) : canvas.clientWidth;
    const height = canvas.clientHeight;
    const left = Math.max(width < 560 ? 56 : 84, widest + 12);
    return { width, height, left, right: width - 2, top: TOP, bottom: height - BOTTOM };
  };
  const toX = (box, at) => box.left + ((at - view.from) / (view.to - view.from)) * (box.right - box.left);
  const toTime = (box, x) => view.from + ((x - box.left) / (box.right - box.left)) * (view.to - view.from);

  const begin = (canvas) => {
    const box = frame(canvas);
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, box.width, box.height);
    pen.font = font;
    pen.textBaseline = "middle";
    return [pen, box];
  };
  const ruler = document.createElement("canvas").getContext("2d");
  const widthOf = (text) => {
    ruler.font = font;
    return ruler.measureText(text).width;
  };
  const line = (pen, x1, y1, x2, y2, color, dash) => {
    pen.strokeStyle = color;
    pen.lineWidth = 1;
    pen.setLineDash(dash || []);
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.lineTo(x2, y2);
    pen.stroke();
    pen.setLineDash([]);
  };
  const crisp = (at) => Math.round(at) + 0.5;

  const drawAxis = (pen, box) => {
    const step = niceStep(((view.to - view.from) / (box.right - box.left)) * 96);
    pen.fillStyle = colors.soft;
    line(pen, box.left, box.bottom + 0.5, box.right, box.bottom + 0.5, colors.line);
    for (let i = Math.ceil(view.from / step); i * step <= view.to; i++) {
      const x = toX(box, i * step);
      const text = i === 0 ? "0" : markText(i * step, step);
      const half = pen.measureText(text).width / 2;
      line(pen, crisp(x), box.bottom, crisp(x), box.bottom + 4, colors.mark);
      pen.textAlign = "center";
      pen.fillText(text, Math.min(Math.max(x, box.left + half), box.right - half), box.bottom + 14);
    }
  };
  const drawSections = (pen, box, withNames) => {
    let free = box.left;
    let last = -9;
    for (const [name, from, to] of data.sections) {
      for (const at of [from, to]) {
        const x = toX(box, at);
        if (x < box.left - 1 || x > box.right + 1) continue;
        if (Math.abs(x - last) >= 2) line(pen, crisp(Math.min(x, box.right - 1)), 4, crisp(Math.min(x, box.right - 1)), box.bottom, colors.mark, [4, 4]);
        last = x;
      }
      const [x, end] = [Math.max(toX(box, from), box.left), Math.min(toX(box, to), box.right)];
      const width = pen.measureText(name).width;
      if (!withNames || x + 5 < free || width + 8 > end - x) continue;
      drawLabel(pen, name, x + 5, 10, width, "left", colors.soft);
      free = x + width + 12;
    }
  };
  const clip = (pen, box) => {
    pen.save();
    pen.beginPath();
    pen.rect(box.left, 0, box.right - box.left, box.bottom);
    pen.clip();
  };
  const drawPointer = (pen, box) => {
    if (pointer && pointer.at >= view.from && pointer.at <= view.to) {
      const x = crisp(toX(box, pointer.at));
      line(pen, x, box.top, x, box.bottom, colors.ink);
    }
  };

  // Where the row of a thread is. Inner bars are drawn over outer ones, so that each shows its own time.
  const place = (box, row) => {
    const height = (box.bottom - box.top) / rows.length;
    const gap = height > 20 ? 6 : height > 10 ? 3 : 1;
    return [box.top + row * height + gap / 2, height - gap];
  };
  // Whether bars of deeper levels lie over this stretch of time.
  const isCovered = (row, level, from, to) =>
    rows[row].slice(level + 1).some(({ begin, end }) => {
      const i = lowest(end, from + 1e-9);
      return i < begin.length && begin[i] < to;
    });
  const rowNames = data.names;

  const drawBars = (pen, box, row, level) => {
    const { begin, end, rest } = rows[row][level];
    const [top, height] = place(box, row);
    const scale = (box.right - box.left) / (view.to - view.from);
    for (let i = lowest(end, view.from); i < begin.length && begin[i] <= view.to; i++) {
      const kind = rest[5 * i + 2];
      const phase = kind & 31;
      const x = box.left + (Math.max(begin[i], view.from) - view.from) * scale;
      const width = Math.max((Math.min(end[i], view.to) - Math.max(begin[i], view.from)) * scale, 0.7);
      const share = kind & 128 ? Math.max(rest[5 * i + 3] / 100, 0.25) : 1;
      pen.globalAlpha = share * (picked !== null && picked !== phase ? 0.13 : 1);
      pen.fillStyle = colors.phases[phase];
      pen.fillRect(x, top, width > 3 ? width - 0.6 : width, height);
      if (width > 58 && height > 12 && !(kind & 128) && !isCovered(row, level, begin[i], end[i])) drawName(pen, data.phases[phase], x, top, width, height);
    }
    pen.globalAlpha = 1;
  };
  // The name of a phase in its bar.
  const drawName = (pen, name, x, top, width, height) => {
    if (pen.measureText(name).width > width - 12) return;
    const hex = pen.fillStyle;
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    pen.fillStyle = 0.3 * red + 0.59 * green + 0.11 * blue > 140 ? "#14171b" : "#ffffff";
    pen.textAlign = "left";
    pen.fillText(name, x + 6, top + height / 2 + 0.5);
  };

  const drawThreads = (canvas) => {
    const [pen, box] = begin(canvas);
    const height = (box.bottom - box.top) / rows.length;
    pen.textAlign = "right";
    pen.fillStyle = colors.soft;
    const every = Math.ceil(14 / height);
    rowNames.forEach((name, row) => {
      const short = box.left < 80 ? name.replace("worker ", "w ") : name;
      const fits = pen.measureText(short).width < box.left - 10;
      if (row % every === 0) pen.fillText(fits ? short : short.split(" ").pop(), box.left - 10, box.top + (row + 0.5) * height);
    });
    clip(pen, box);
    rows.forEach((levels, row) => levels.forEach((_, level) => drawBars(pen, box, row, level)));
    drawSections(pen, box, true);
    drawPointer(pen, box);
    pen.restore();
    drawAxis(pen, box);
  };

  const most = (points) => points.reduce((most, [, , value]) => Math.max(most, value), 0);
  const outline = (box, points, visit) => {
    for (let i = firstSeen(points); i < points.length && points[i][0] <= view.to; i++) {
      visit(toX(box, points[i][0]), toX(box, points[i][1]), points[i][2], i);
    }
  };
  const firstSeen = (points) => {
    let [low, high] = [0, points.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points[middle][1] < view.from) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const drawArea = (pen, box, points, base, toY, color) => {
    pen.fillStyle = color;
    pen.globalAlpha = 0.82;
    pen.beginPath();
    outline(box, points, (from, to, value, i) => {
      const below = base ? base[i][2] : 0;
      if (value > 0) pen.rect(from, toY(below + value), Math.max(to - from, 0.5) + 0.25, toY(below) - toY(below + value));
    });
    pen.fill();
    pen.globalAlpha = 1;
  };
  const drawLine = (pen, box, points, toY, color) => {
    pen.strokeStyle = color;
    pen.lineWidth = 1.5;
    pen.beginPath();
    outline(box, points, (from, to, value) => {
      pen.lineTo(from, toY(value));
      pen.lineTo(to, toY(value));
    });
    pen.stroke();
  };
  // Text on a ground of its own, over whatever is there; `x` is its right end, or with "left" its left one.
  const drawLabel = (pen, text, x, y, most, side, color) => {
    const width = Math.min(pen.measureText(text).width, most);
    pen.fillStyle = colors.ground;
    pen.globalAlpha = 0.88;
    pen.fillRect((side === "left" ? x : x - width) - 4, y - 8, width + 8, 16);
    pen.globalAlpha = 1;
    pen.fillStyle = color;
    pen.textAlign = side;
    pen.fillText(text, x, y, most);
  };
  const drawCeilings = (pen, box, lines, top, toY) => {
    let above = [];
    let used = -99;
    for (const [, name, value] of lines) {
      const text = name + " " + rate(value);
      if (value > top) {
        above.push(text);
        continue;
      }
      const y = toY(value);
      line(pen, box.left, crisp(y), box.right, crisp(y), colors.flag, [6, 4]);
      if (Math.abs(y - used) > 18) drawLabel(pen, text, box.right - 6, y - 10, box.right - box.left - 12, "right", colors.flag);
      used = y;
    }
    if (above.length) {
      drawLabel(pen, above.join(", ") + " ↑", box.right - 6, 10, box.right - box.left - 12, "right", colors.flag);
    }
  };

  // The highest value that a chart has room for, and its marks with their labels.
  const scaleOf = (canvas) => {
    const it = series[canvas.id];
    const sums = it.areas.length > 1 && it.areas[0][2].length ? it.areas[0][2].map(([a, b, value], i) => [a, b, value + (it.areas[1][2][i] || [0, 0, 0])[2]]) : [];
    const highest = Math.max(...it.areas.map((area) => most(area[2])), ...it.lines.map((area) => most(area[2])), most(sums), it.least || 0) || 1;
    const ceilings = data.ceilings.filter(([chart, , value]) => chart === canvas.id && value <= 4 * highest);
    const top = Math.max(highest, ...ceilings.map(([, , value]) => value)) * 1.12;
    const step = niceStep(top / Math.max(2, (canvas.clientHeight - TOP - BOTTOM) / 34));
    const marks = Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => [i * step, i ? it.words(i * step) : "0"]);
    return { top, marks };
  };
  const drawSeries = (canvas) => {
    const [pen, box] = begin(canvas);
    const it = series[canvas.id];
    const { top, marks } = scaleOf(canvas);
    const ceilings = data.ceilings.filter(([chart]) => chart === canvas.id);
    const toY = (value) => box.bottom - (value / top) * (box.bottom - box.top);
    for (const [value, text] of marks) {
      const y = crisp(toY(value));
      line(pen, box.left, y, box.right, y, colors.line);
      pen.textAlign = "right";
      pen.fillStyle = colors.soft;
      pen.fillText(text, box.left - 8, y);
    }
    clip(pen, box);
    it.areas.forEach(([color, , points], i) => drawArea(pen, box, points, i && it.areas[0][2].length ? it.areas[0][2] : null, toY, colorOf(color)));
    it.lines.forEach(([color, , points]) => drawLine(pen, box, points, toY, colorOf(color)));
    drawSections(pen, box, false);
    drawCeilings(pen, box, ceilings, top, toY);
    drawPointer(pen, box);
    pen.restore();
    drawAxis(pen, box);
  };

  const canvases = charts ? [...charts.querySelectorAll("canvas")] : [];
  const drawAll = () => {
    const labels = canvases.flatMap((canvas) => (canvas.id === "threads" ? [] : scaleOf(canvas).marks.map(([, text]) => text)));
    widest = Math.max(0, ...labels.map(widthOf));
    canvases.forEach((canvas) => (canvas.id === "threads" ? drawThreads(canvas) : drawSeries(canvas)));
  };
  let waiting = 0;
  const redraw = () => {
    if (!waiting) waiting = requestAnimationFrame(() => { waiting = 0; drawAll(); });
  };

  // ---- moving ----------------------------------------------------------------------------------------------------

  const length = view.to;
  const show = (from, to) => {
    const span = Math.min(Math.max(to - from, Math.min(20, length), length / 1e6), length);
    view.from = Math.min(Math.max(from, 0), length - span);
    view.to = view.from + span;
    find("view").textContent = span >= length ? "All of " + time(length) : time(view.from) + " to " + time(view.to) + " of " + time(length);
    redraw();
  };
  const zoom = (factor, around) => {
    const middle = around === undefined ? (view.from + view.to) / 2 : around;
    show(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
  };
  const move = (share) => show(view.from + (view.to - view.from) * share, view.to + (view.to - view.from) * share);
  const doings = { left: () => move(-0.2), right: () => move(0.2), in: () => zoom(0.6), out: () => zoom(1 / 0.6), all: () => show(0, length) };
  const keys = { ArrowLeft: "left", ArrowRight: "right", "+": "in", "=": "in", "-": "out", _: "out", 0: "all" };
  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    doings[keys[event.key]]();
    event.preventDefault();
  };
  const onWheel = (event) => {
    const box = frame(event.target);
    const wants = event.ctrlKey || charts.contains(document.activeElement);
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / (box.right - box.left));
    else if (wants) zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.003))), toTime(box, event.offsetX));
    else return;
    event.preventDefault();
  };

  // Fingers and buttons that are down, by their number: where they are.
  const down = new Map();
  const onDown = (event) => {
    if (event.button) return;
    down.set(event.pointerId, event.offsetX);
    event.target.setPointerCapture(event.pointerId);
  };
  const onMove = (event) => {
    const box = frame(event.target);
    const before = down.get(event.pointerId);
    if (before === undefined) return hover(event, box);
    const others = [...down].filter(([id]) => id !== event.pointerId);
    down.set(event.pointerId, event.offsetX);
    if (others.length) {
      const other = others[0][1];
      const apart = [before, event.offsetX].map((x) => Math.max(Math.abs(x - other), 8));
      zoom(apart[0] / apart[1], toTime(box, other));
    } else {
      move((before - event.offsetX) / (box.right - box.left));
    }
    hover(event, box);
  };
  const onUp = (event) => down.delete(event.pointerId);

  // ---- what is under the pointer ---------------------------------------------------------------------------------

  const barWords = (row, level, i, rest) => {
    const [, , kind, about, value] = rest.slice(5 * i, 5 * i + 5);
    const phase = data.phases[kind & 31];
    const { begin, end } = rows[row][level];
    const when = "start " + time(begin[i]) + "\nduration " + time(end[i] - begin[i]);
    if (kind & 128) return [phase, value.toLocaleString("en") + " merged spans, mostly this phase, over " + about + "% of the bar\n" + when];
    const lane = data.lanes.length ? ", " + data.lanes[(kind >> 5) & 3] : "";
    const moves = about || data.io.includes(kind & 31);
    const more = moves ? "\n" + bytes(value) + (about ? "\n" + data.files[about - 1] : "") : value ? "\nchunk " + (value - 1).toLocaleString("en") : "";
    return [phase, rowNames[row] + lane + "\n" + when + more];
  };
  const underBars = (box, x, y) => {
    const row = Math.floor(((y - box.top) / (box.bottom - box.top)) * rows.length);
    if (!rows[row]) return null;
    const slack = ((view.to - view.from) / (box.right - box.left)) * 1.5;
    const at = toTime(box, x);
    for (let level = rows[row].length - 1; level >= 0; level--) {
      const bars = rows[row][level];
      const i = lowest(bars.end, at - slack);
      if (i < bars.begin.length && bars.begin[i] <= at + slack) return barWords(row, level, i, bars.rest);
    }
    return null;
  };
  const underSeries = (canvas, at) => {
    const it = series[canvas.id];
    const value = (points) => (points.find(([from, to]) => from <= at && at < to) || [])[2];
    const said = [...it.areas, ...it.lines].filter((area) => area[2].length).map(([, name, points]) => [name, value(points)]);
    return ["at " + time(at), said.map(([name, value]) => name + ": " + (value === undefined ? "–" : it.words(value))).join("\n")];
  };
  const hover = (event, box) => {
    const [x, y] = [event.offsetX, event.offsetY];
    if (x < box.left || x > box.right) return leave();
    pointer = { at: toTime(box, x) };
    const words = event.target.id === "threads" ? underBars(box, x, y) : underSeries(event.target, pointer.at);
    tip.hidden = !words;
    if (words) {
      const name = document.createElement("b");
      name.textContent = words[0];
      tip.replaceChildren(name, "\n" + words[1]);
      const [width, height] = [tip.offsetWidth, tip.offsetHeight];
      tip.style.left = Math.max(8, Math.min(event.clientX + 16, innerWidth - width - 12)) + "px";
      tip.style.top = (event.clientY + 20 + height > innerHeight ? Math.max(8, event.clientY - height - 14) : event.clientY + 20) + "px";
    }
    redraw();
  };
  const leave = () => {
    pointer = null;
    tip.hidden = true;
    redraw();
  };

  // ---- beginning -------------------------------------------------------------------------------------------------

  const onKeyOfLegend = (button) => {
    const phase = +button.dataset.phase;
    picked = picked === phase ? null : phase;
    for (const other of charts.querySelectorAll("button.key")) {
      other.setAttribute("aria-pressed", String(+other.dataset.phase === picked));
    }
    redraw();
  };
  if (charts) {
    charts.addEventListener("keydown", onKey);
    charts.querySelectorAll("[data-do]").forEach((button) => button.addEventListener("click", doings[button.dataset.do]));
    charts.querySelectorAll("button.key").forEach((button) => button.addEventListener("click", () => onKeyOfLegend(button)));
    for (const canvas of canvases) {
      canvas.addEventListener("wheel", onWheel, { passive: false });
      canvas.addEventListener("pointerdown", onDown);
      canvas.addEventListener("pointermove", onMove);
      canvas.addEventListener("pointerleave", leave);
      for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, onUp);
      canvas.addEventListener("dblclick", (event) => zoom(0.4, toTime(frame(canvas), event.offsetX)));
      canvas.addEventListener("click", () => charts.focus({ preventScroll: true }));
    }
    show(0, length);
  }
  const theme = find("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const next = themes[(themes.indexOf(root.dataset.theme || "auto") + 1) % themes.length];
    useTheme(stored(next) || next);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => useTheme(root.dataset.theme || "auto"));
  addEventListener("resize", redraw);
  let before = "auto";
  addEventListener("beforeprint", () => {
    before = root.dataset.theme || "auto";
    pointer = null;
    printing = true;
    useTheme("light");
    drawAll();
  });
  addEventListener("afterprint", () => {
    printing = false;
    useTheme(before);
  });
  const kept = stored();
  useTheme(themes.includes(kept) ? kept : "auto");
  drawAll();
})();
