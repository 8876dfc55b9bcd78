// One OBJ file by several workers: each reads a range of whole lines, gets the vertices of the others, and draws its
// own faces. What one worker alone can read is left to one: see `drawInParts`. Nothing here knows how the file is read.

import { PolyhaulError } from './engine.js';
import { hold, release, work } from './pool.js';

/** What is worth a worker of its own, which may have to be started. */
const LEAST_BYTES = 8 << 20;
/** Warnings that the engine keeps (crates/core/model/src/warnings.rs). A file with more is read as one. */
const MOST_WARNINGS = 1000;
/** Where a line must end, for a file to be cut. */
const LONGEST_LINE = 1 << 20;

/** How many workers share a file of so many bytes: one core is left to the page. */
export function workersFor(bytes, most = Math.min((globalThis.navigator?.hardwareConcurrency ?? 2) - 1, 4)) {
  return Math.max(1, Math.min(most, Math.floor(bytes / LEAST_BYTES)));
}

/**
 * Draws an OBJ file by so many workers.
 *
 * @param {Blob | ArrayBuffer} file
 * @param {object} message the job, as one worker would get it
 * @param {ArrayBuffer[]} moved memory that the first worker gets
 * @returns {Promise<object>} the answer
 */
export async function drawInParts(file, count, message, moved, signal, onProgress) {
  const ends = await cuts(file, count);
  if (ends.length === 1) return work(message, moved, signal, onProgress);
  const ranges = ends.map((end, at) => [at ? ends[at - 1] : 0, end]);
  // The first worker has the whole file, in case that the others cannot go on. It may be moved there, so the other
  // parts are taken before.
  const files = ranges.map((range, at) => (at ? file.slice(...range) : file));
  const hands = [];
  const told = ranges.map(() => 0);
  const ask = (at, task, detail, moved = []) =>
    hands[at].run({ ...message, others: {}, ...detail, task }, moved, signal, (bytes) => {
      told[at] = bytes;
      onProgress(told.reduce((sum, bytes) => sum + bytes, 0));
    });
  try {
    // Started at the same time; those that could be are released if another one could not.
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
    // It begins anew.
    told.fill(0);
    return await ask(0, 'draw', { file: null, others: message.others });
  } finally {
    await Promise.all(hands.map((hand) => hand.isOver || forgotten(hand, message)));
    hands.forEach(release);
  }
}

/** A worker that has nothing left of this file, also when it was given up. */
function forgotten(hand, message) {
  const forget = { ...message, others: {}, file: null, task: 'forget' };
  return hand.run(forget, [], undefined, () => {}).catch(() => {});
}

/** A fault of the file, which one worker alone will tell in full, is no answer of a part; others end the reading. */
function failure(error) {
  if (error instanceof PolyhaulError && error.kind !== 'internal') return undefined;
  throw error;
}

const buffersOf = (arrays) => arrays.filter(Boolean).map(({ buffer }) => buffer);
const transferable = (file) => (file instanceof ArrayBuffer ? [file] : []);

/** Where the parts end: after lines that do not go on with the next one. Fewer parts if there is no such line. */
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
    // What precedes the window is not known. A byte order mark has no meaning but at the beginning of a file.
    if (last >= 0 && bytes[last] !== BACKSLASH && bytes[at + 1] !== MARK) return at + 1;
  }
  return 0;
}

/** What the parts are together, or nothing if they must be read as one. */
function planOf(parts, ranges, name) {
  if (parts.includes(undefined)) return undefined;
  if (parts.reduce((sum, { warningCount }) => sum + warningCount, 0) > MOST_WARNINGS) return undefined;
  const vertices = parts.map(({ counts }) => [counts.positions, counts.uvs, counts.normals]);
  const total = sum(vertices);
  const isWrong = ({ largest }) => largest.some((index, kind) => index > total[kind]);
  // Libraries of a later part would be searched for what earlier ones use.
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

/** The number that statements of materials have. */
const MATERIAL = 2;

const elementsOf = ({ counts }) => Object.values(counts).reduce((sum, count) => sum + count, 0);

/** The sum of lists of numbers. */
function sum(lists, width = lists[0].length) {
  return lists.reduce((sum, list) => sum.map((value, at) => value + list[at]), Array(width).fill(0));
}

/** What is told of the file beside its shapes. */
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
  // Other files are read, and missed, after this one.
  const isLate = ({ code, file }) => code.startsWith('missing-') || file !== name;
  warnings.sort((a, b) => isLate(a) - isLate(b));
  const comments = parts.flatMap((part) => part.comments);
  // Those of libraries, too.
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  const entries = names.map((name, at) => [name, counts[at]]);
  const told = { materials, materialLibraries, comments, tables: [], counts: Object.fromEntries(entries) };
  return { bytes, plainBytes: bytes, ...told, warningCount, warnings };
}

/** A warning of a part at its place in the file. */
function moved(warning, lines, bytes) {
  const place = { ...warning };
  if (warning.line !== undefined) place.line += lines;
  if (warning.offset !== undefined) place.offset += bytes;
  return place;
}

/** All results, once none is outstanding, or the first failure: a worker has one job at a time. */
async function all(promises) {
  const results = await Promise.allSettled(promises);
  const failed = results.find(({ status }) => status === 'rejected');
  if (failed) throw failed.reason;
  return results.map(({ value }) => value);
}

/** The shapes of all parts, with their corners. */
async function joined(ask, { text, others }) {
  const each = (task) => all(text.map((_, at) => task(at)));
  const parts = await each((at) => {
    const rest = others.filter((_, other) => other !== at);
    // Of two workers, each is the only one that needs the vertices of the other.
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

/** What a worker draws. Whoever has the first corners of a shape makes room for all, and waits for the others. */
function ownOf(shapes, at) {
  return shapes.flatMap(({ all, first, starts, ...shape }, number) => {
    const { ownCorners } = all[at];
    if (ownCorners === 0) return [];
    const corners = first === at ? shape.corners : ownCorners;
    return [{ number, isKept: corners > ownCorners, shape: { ...shape, corners } }];
  });
}

/** What others have drawn of the shapes that a worker has the first corners of. */
function restOf(shapes, drawn, at) {
  return shapes.flatMap(({ first, starts }, number) => {
    if (first !== at) return [];
    const given = drawn.map((found, other) => ({ number, start: starts[other], attributes: found[number] }));
    return given.filter(({ attributes }, other) => other !== at && attributes);
  });
}
