// Reads one OBJ file with several workers: each reads a range of whole lines, receives the vertices of the others, and
// draws its own faces. A file that cannot be read in parts is read by one worker: see `drawInParts`.

import { PolyhaulError } from './engine.js';
import { hold, release, work } from './pool.js';

/** The minimum number of bytes per worker, since starting a worker takes time. */
const LEAST_BYTES = 8 << 20;
/** The number of warnings kept by the engine (crates/core/model/src/warnings.rs). One worker reads files with more. */
const MOST_WARNINGS = 1000;
/** The number of bytes in which to search for the end of a line at which to divide the file. */
const LONGEST_LINE = 1 << 20;

/** The number of workers for a file of this size: one core is left to the page. */
export function workersFor(bytes, most = Math.min((globalThis.navigator?.hardwareConcurrency ?? 2) - 1, 4)) {
  return Math.max(1, Math.min(most, Math.floor(bytes / LEAST_BYTES)));
}

/**
 * Draws an OBJ file with `count` workers.
 *
 * @param {Blob | ArrayBuffer} file
 * @param {object} message the job, as for a single worker
 * @param {ArrayBuffer[]} moved memory to transfer to the first worker
 * @returns {Promise<object>} the answer
 */
export async function drawInParts(file, count, message, moved, signal, onProgress) {
  const ends = await cuts(file, count);
  if (ends.length === 1) return work(message, moved, signal, onProgress);
  const ranges = ends.map((end, at) => [at ? ends[at - 1] : 0, end]);
  // The first worker gets the whole file, in case it cannot be read in parts. The file may be transferred, so the other
  // parts are copied before.
  const files = ranges.map((range, at) => (at ? file.slice(...range) : file));
  const hands = [];
  const told = ranges.map(() => 0);
  const ask = (at, task, detail, moved = []) =>
    hands[at].run({ ...message, others: {}, ...detail, task }, moved, signal, (bytes) => {
      told[at] = bytes;
      onProgress(told.reduce((sum, bytes) => sum + bytes, 0));
    });
  try {
    // Start all workers in parallel; if one cannot be started, the others are released.
    await all(ranges.map(() => hold(message.kind).then((hand) => hands.push(hand))));
    const parts = await all(
      ranges.map((range, at) => {
        const detail = at ? { file: files[at] } : { file, range, others: message.others };
        return ask(at, 'part', detail, at ? transferable(files[at]) : moved).catch(failure);
      }),
    );
    const plan = planOf(parts, ranges, message.options.name);
    const shapes = plan && (await joined(ask, plan));
    if (shapes?.length) return { ...plan.answer, shapes, meshes: [] };
    // Reading starts again.
    told.fill(0);
    return await ask(0, 'draw', { file: null, others: message.others });
  } finally {
    await Promise.all(hands.map((hand) => hand.isOver || forgotten(hand, message)));
    hands.forEach(release);
  }
}

/** Makes a worker free the data of this file, even if the job was aborted. */
function forgotten(hand, message) {
  const forget = { ...message, others: {}, file: null, task: 'forget' };
  return hand.run(forget, [], undefined, () => {}).catch(() => {});
}

/** Converts a fault of the file to `undefined`, because a single worker then reports it; rethrows other errors. */
function failure(error) {
  if (error instanceof PolyhaulError && error.kind !== 'internal') return undefined;
  throw error;
}

const buffersOf = (arrays) => arrays.filter(Boolean).map(({ buffer }) => buffer);
const transferable = (file) => (file instanceof ArrayBuffer ? [file] : []);

/** The ends of the parts: after lines that do not continue in the next one. Fewer parts if there is no such line. */
async function cuts(file, count) {
  const size = file.size ?? file.byteLength;
  const ends = [];
  for (let at = 1; at < count; at++) {
    const begin = Math.max(Math.floor((size * at) / count), ends.at(-1) ?? 0);
    const window = file.slice(begin, begin + LONGEST_LINE);
    const end = lineEnd(new Uint8Array(window instanceof ArrayBuffer ? window : await window.arrayBuffer()));
    if (end && begin + end < size) ends.push(begin + end);
  }
  return [...ends, size];
}

function lineEnd(bytes) {
  const [FEED, RETURN, BACKSLASH, MARK] = [10, 13, 92, 0xef];
  for (let at = bytes.indexOf(FEED); at >= 0; at = bytes.indexOf(FEED, at + 1)) {
    const last = bytes[at - 1] === RETURN ? at - 2 : at - 1;
    // The byte before the window is unknown. A byte order mark is valid only at the start of a file, so no part may
    // start with one.
    if (last >= 0 && bytes[last] !== BACKSLASH && bytes[at + 1] !== MARK) return at + 1;
  }
  return 0;
}

/** Plans how to join the parts; returns nothing if the file must be read by one worker. */
function planOf(parts, ranges, name) {
  if (parts.includes(undefined)) return undefined;
  if (parts.reduce((sum, { warningCount }) => sum + warningCount, 0) > MOST_WARNINGS) return undefined;
  const vertices = parts.map(({ counts }) => [counts.positions, counts.uvs, counts.normals]);
  const total = sum(vertices);
  const isWrong = ({ largest }) => largest.some((index, kind) => index > total[kind]);
  // The libraries of a later part would have to define the materials of earlier parts.
  if (parts.some(isWrong) || parts.slice(1).some(({ materialLibraries }) => materialLibraries.length)) return undefined;
  const materials = new Map();
  for (const material of parts.flatMap((part) => part.materials)) {
    if (!materials.has(material.name)) materials.set(material.name, material);
  }
  const numbers = new Map([...materials.keys()].map((name, number) => [name, number]));
  const ends = parts.map(({ end }) => end);
  const hasColors = parts.some((part) => part.vertices.colors);
  const whole = [`end ${sum(ends).join(' ')}`, `total ${total.join(' ')}`, `colors ${hasColors ? 1 : 0}`];
  parts.forEach(({ statements, materials }, at) => {
    const place = parts.slice(0, at).reduce((sum, part) => sum + elementsOf(part), 0);
    const precede = sum(ends.slice(0, at), 5);
    for (const it of statements) {
      const isNumber = it.kind === MATERIAL && it.value !== '';
      const value = isNumber ? numbers.get(materials[it.value].name) : it.value.replace(/[\r\n]/g, ' ');
      const before = sum([precede, it.before]);
      whole.push(`statement ${it.kind} ${place + it.place} ${before.join(' ')} ${value}`);
    }
  });
  const common = whole.join('\n');
  const text = parts.map((_, at) => {
    const [base, before] = [sum(ends.slice(0, at), 5), sum(vertices.slice(0, at), 3)];
    return `${common}\nbase ${base.join(' ')}\nbefore ${before.join(' ')}\n`;
  });
  const others = parts.map((part, at) => ({ before: sum(vertices.slice(0, at), 3), vertices: part.vertices }));
  const answer = answerOf(parts, ranges, [...materials.values()], name);
  return { text, others, answer };
}

/** The kind number of material statements. */
const MATERIAL = 2;

const elementsOf = ({ counts }) => Object.values(counts).reduce((sum, count) => sum + count, 0);

/** Adds lists of numbers element by element. */
function sum(lists, width = lists[0].length) {
  return lists.reduce((sum, list) => sum.map((value, at) => value + list[at]), Array(width).fill(0));
}

/** The answer for the whole file, without its shapes. */
function answerOf(parts, ranges, materials, name) {
  const { materialLibraries } = parts[0];
  const names = Object.keys(parts[0].counts);
  const counts = sum(parts.map((part) => Object.values(part.counts)));
  const known = new Set(parts[0].materials.filter(({ missing }) => !missing).map(({ name }) => name));
  const warnings = [];
  let [lines, warningCount] = [0, 0];
  parts.forEach((part, at) => {
    const isNew = ({ code, subject }) => code !== 'missing-material' || !known.has(subject);
    const own = part.warnings.filter(isNew);
    own.forEach(({ code, subject }) => code === 'missing-material' && known.add(subject));
    warningCount += part.warningCount - (part.warnings.length - own.length);
    warnings.push(...own.map((warning) => moved(warning, lines, ranges[at][0])));
    lines += part.lines;
  });
  // Warnings about other files come last, because those files are read after this one.
  const isLate = ({ code, file }) => code.startsWith('missing-') || file !== name;
  warnings.sort((a, b) => isLate(a) - isLate(b));
  const comments = parts.flatMap((part) => part.comments);
  // This includes the bytes of libraries.
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  const entries = names.map((name, at) => [name, counts[at]]);
  const told = { materials, materialLibraries, comments, tables: [], counts: Object.fromEntries(entries) };
  return { bytes, plainBytes: bytes, ...told, warningCount, warnings };
}

/** Converts the location of a warning from its part to the file. */
function moved(warning, lines, bytes) {
  const place = { ...warning };
  if (warning.line !== undefined) place.line += lines;
  if (warning.offset !== undefined) place.offset += bytes;
  return place;
}

/** Waits for all promises and returns their results, or throws the first failure: a worker runs one job at a time. */
async function all(promises) {
  const results = await Promise.allSettled(promises);
  const failed = results.find(({ status }) => status === 'rejected');
  if (failed) throw failed.reason;
  return results.map(({ value }) => value);
}

/** Joins the shapes of all parts, with their corners. */
async function joined(ask, { text, others }) {
  const each = (task) => all(text.map((_, at) => task(at)));
  const parts = await each((at) => {
    const rest = others.filter((_, other) => other !== at);
    // With two workers, only the other one needs the vertices of a worker, so they can be transferred.
    const moved = rest.length === 1 ? buffersOf(rest.flatMap(({ vertices }) => Object.values(vertices))) : [];
    return ask(at, 'join', { file: null, text: text[at], parts: rest }, moved);
  });
  const shapes = parts[0].map((shape, number) => {
    const all = parts.map((part) => part[number]);
    const has = (name) => all.some((own) => own[name]);
    const starts = all.map((_, at) => all.slice(0, at).reduce((sum, { ownCorners }) => sum + ownCorners, 0));
    const [hasColors, hasUvs] = [has('hasColors'), has('hasUvs')];
    return { ...shape, hasColors, hasUvs, starts, first: all.findIndex(({ ownCorners }) => ownCorners > 0), all };
  });
  const drawn = await each((at) => ask(at, 'corners', { file: null, own: ownOf(shapes, at) }));
  const appended = await each((at) => {
    const rest = restOf(shapes, drawn, at);
    const moved = buffersOf(rest.flatMap(({ attributes }) => Object.values(attributes)));
    return rest.length ? ask(at, 'append', { file: null, rest }, moved) : {};
  });
  return shapes.map(({ all, first, starts, ownCorners, ...shape }, number) => ({
    ...shape,
    attributes: appended[first]?.[number] ?? drawn[first]?.[number],
  }));
}

/** The shapes that a worker draws. The worker with the first corners of a shape allocates room for all its corners. */
function ownOf(shapes, at) {
  return shapes.flatMap(({ all, first, starts, ...shape }, number) => {
    const { ownCorners } = all[at];
    if (ownCorners === 0) return [];
    const corners = first === at ? shape.corners : ownCorners;
    return [{ number, isKept: corners > ownCorners, shape: { ...shape, corners } }];
  });
}

/** The corners that other workers drew of the shapes whose first corners this worker has. */
function restOf(shapes, drawn, at) {
  return shapes.flatMap(({ first, starts }, number) => {
    if (first !== at) return [];
    const given = drawn.map((found, other) => ({ number, start: starts[other], attributes: found[number] }));
    return given.filter(({ attributes }, other) => other !== at && attributes);
  });
}
