// Reading in workers: what `import { read } from 'polyhaul'` gives. three.js' classes are in three.js, the module and
// its memory in engine.js.

import { MODULES, canSuspend, compile } from './engine.js';
import { drawInParts, workersFor } from './parts.js';
import { warm, work } from './pool.js';
import { remote } from './remote.js';
import { described } from './writing.js';

export { PolyhaulError } from './engine.js';

/** Modules by kind, as they are compiled, and those that are. */
const [compiled, ready] = [{}, {}];

/**
 * Loads the module that reads, and starts a worker, so that both are ready when the first file comes.
 *
 * @param {'reading' | 'obj' | 'ply' | 'stl'} [kind] or a smaller module, which reads one format alone
 */
export async function prepare(kind = 'reading') {
  if (!Object.hasOwn(MODULES, kind)) throw new TypeError(`polyhaul: there is no module for ${kind}`);
  compiled[kind] ??= Promise.all([compile(MODULES[kind]), warm()]);
  try {
    [ready[kind]] = await compiled[kind];
  } catch (error) {
    // What failed is tried again.
    delete compiled[kind];
    throw error;
  }
  return ready[kind];
}

/** The same with the module that converts and writes. */
export function prepareToWrite() {
  return prepare('converting');
}

/** A module that is ready. */
export const prepared = (kind) => ready[kind];

/**
 * Reads a scene or a mesh in a worker.
 *
 * @param {Blob | ArrayBuffer | ArrayBufferView | string | URL} source a file, its bytes, or where it is
 * @param {object} [options]
 * @param {string} [options.name] the name of the file, which tells its format; by default that of the `File`, or the last
 *   part of the URL
 * @param {'obj' | 'ply' | 'stl'} [options.module] use a smaller module, which reads this format alone
 * @param {string} [options.format] the format, if neither the name nor the content tells: `'obj'`, `'ply'`, ...
 * @param {boolean} [options.skip] leave out what breaks the format's rules, with warnings, instead of failing
 * @param {'auto' | 'single' | 'double'} [options.precision] of positions
 * @param {Record<string, Blob | ArrayBuffer>} [options.others] files that this one may refer to, by the names it has for them
 * @param {boolean} [options.transfer] move an `ArrayBuffer` to the worker instead of copying it: it is empty afterwards
 * @param {number} [options.rangeBytes] the size of the ranges in which a large file is loaded from a server that has them;
 *   0 loads it as a whole
 * @param {AbortSignal} [options.signal]
 * @param {(bytes: number, total: number) => void} [options.onProgress]
 * @returns {Promise<object>} the scene
 * @throws {PolyhaulError} what is wrong with the file, with its line and column
 */
export async function read(source, options = {}) {
  return run('read', source, options);
}

/**
 * Reads the tables of a file, or the elements of a PLY file as tables: columns of numbers.
 *
 * @returns {Promise<object>} `tables`, `comments`, and warnings
 */
export async function readTables(source, options = {}) {
  return run('read', source, options, { tables: true });
}

/**
 * Reads a file and writes it in another format, in a worker.
 *
 * @param {string} to the name of the file to be made, which tells its format: `'scene.ply'`
 * @returns {Promise<{ blob: Blob, bytes: number, warningCount: number, warnings: object[] }>}
 */
export async function convert(source, to, options = {}) {
  requireName(to);
  const { parts, ...answer } = await run('convert', source, options, { to });
  return { ...answer, blob: new Blob(parts) };
}

/**
 * Writes meshes or tables as a file, in a worker.
 *
 * @param {object | object[]} source meshes, which have `positions`, or tables, which have `columns`
 * @param {string} to the name of the file, which tells its format: `'scene.obj'`
 * @param {{ encoding?: 'ascii' | 'big', floatColors?: boolean, transfer?: boolean, signal?: AbortSignal }} [options]
 * @returns {Promise<{ blob: Blob, bytes: number, warningCount: number, warnings: object[] }>}
 */
export async function write(source, to, { transfer, signal, ...how } = {}) {
  requireName(to);
  signal?.throwIfAborted();
  const file = described(source);
  const [kind, module] = ['converting', await unlessAborted(prepareToWrite(), signal)];
  const moved = transfer ? [...new Set(file.arrays.map(({ array }) => array.buffer))] : [];
  const message = { kind, module, task: 'write', file, others: {}, options: { ...how, to } };
  const { parts, ...answer } = await work(message, moved, signal, () => {});
  return { ...answer, blob: new Blob(parts) };
}

function requireName(to) {
  if (typeof to !== 'string' || to === '') throw new TypeError('polyhaul: the name of the file to be made is missing');
}

/**
 * Reads the shapes of a file as a renderer draws them: corners without indices. See three.js.
 *
 * @param {number} [options.workers] how many workers may share a large OBJ file: by default, one less than there are cores,
 *   up to 4
 */
export async function draw(source, options = {}) {
  return run('draw', source, options);
}

async function run(task, source, { name, format, skip, precision, others = {}, onProgress, workers, module: reading, ...how }, more = {}) {
  const { signal } = how;
  signal?.throwIfAborted();
  const kind = task === 'convert' ? 'converting' : (reading ?? 'reading');
  const named = Object.entries(others).map(async ([name, other]) => [name, (await opened(other, { rangeBytes: 0 })).file]);
  const inputs = [prepare(kind), opened(source, how), Promise.all(named)];
  const [module, { file, moved = [] }, files] = await unlessAborted(Promise.all(inputs), signal);
  const total = file.size ?? file.byteLength;
  const options = { name: name ?? nameOf(source), format, skip, precision, ...more };
  const message = { kind, module, task, file, others: Object.fromEntries(files), options };
  const tell = (bytes) => onProgress?.(bytes, total);
  const isObj = task === 'draw' && (format ?? options.name.split('.').pop()).toLowerCase() === 'obj';
  // A file that is still to be loaded has no parts.
  const count = isObj && file.slice ? workersFor(total, workers) : 1;
  return count > 1 ? drawInParts(file, count, message, moved, signal, tell) : work(message, moved, signal, tell);
}

/** The same promise, which an abort rejects at once. */
function unlessAborted(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

/** What a worker can read, with memory that is moved to it: bytes that are a part of others are copied. */
async function opened(source, { transfer, signal, rangeBytes }) {
  if (typeof source === 'string' || source instanceof URL) return remote(source, signal, canSuspend ? rangeBytes : 0);
  if (source instanceof Blob) {
    if (!isNode()) return { file: source };
    // Node's workers cannot wait for the parts of a blob.
    const file = await source.arrayBuffer();
    return { file, moved: [file] };
  }
  if (ArrayBuffer.isView(source)) {
    // Not `source.slice`: that of Node's buffers copies nothing.
    const file = new Uint8Array(source.buffer, source.byteOffset, source.byteLength).slice().buffer;
    return { file, moved: [file] };
  }
  if (!(source instanceof ArrayBuffer)) throw new TypeError('polyhaul: the source is no Blob, ArrayBuffer, view or URL');
  // It throws for a buffer that was moved away.
  new Uint8Array(source);
  return { file: source, moved: transfer ? [source] : [] };
}

function nameOf(source) {
  if (typeof source !== 'string' && !(source instanceof URL)) return source.name ?? '';
  const { protocol, pathname } = new URL(source, 'file:');
  if (protocol === 'data:' || protocol === 'blob:') return '';
  const last = pathname.split('/').pop();
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

function isNode() {
  return typeof Worker === 'undefined';
}
