// Reading in workers: what `import { read } from 'polyhaul'` gives. three.js' classes are in three.js, the module and
// its memory in engine.js.

import { prepareModule, run, unlessAborted } from './jobs.js';
import { work } from './pool.js';
import { described } from './writing.js';

export { PolyhaulError } from './engine.js';
export { dispose } from './pool.js';

/** The modules: one that reads, a larger one that also converts, and one for each of three formats alone. */
const MODULES = {
  reading: () => new URL('./polyhaul.wasm', import.meta.url),
  converting: () => new URL('./polyhaul-convert.wasm', import.meta.url),
  obj: () => new URL('./polyhaul-obj.wasm', import.meta.url),
  ply: () => new URL('./polyhaul-ply.wasm', import.meta.url),
  stl: () => new URL('./polyhaul-stl.wasm', import.meta.url),
};

function moduleOf(kind = 'reading') {
  if (!Object.hasOwn(MODULES, kind)) throw new TypeError(`polyhaul: there is no module for ${kind}`);
  return MODULES[kind]();
}

/**
 * Loads the module that reads, and starts a worker, so that both are ready when the first file comes.
 *
 * @param {'reading' | 'obj' | 'ply' | 'stl'} [kind] or a smaller module, which reads one format alone
 */
export async function prepare(kind) {
  return prepareModule(moduleOf(kind));
}

/** The same with the module that converts and writes. */
export function prepareToWrite() {
  return prepare('converting');
}

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
  return run('read', source, options, moduleOf(options.module));
}

/**
 * Reads the tables of a file, or the elements of a PLY file as tables: columns of numbers.
 *
 * @returns {Promise<object>} `tables`, `comments`, and warnings
 */
export async function readTables(source, options = {}) {
  return run('read', source, options, moduleOf(options.module), { tables: true });
}

/**
 * Reads a file and writes it in another format, in a worker.
 *
 * @param {string} to the name of the file to be made, which tells its format: `'scene.ply'`
 * @returns {Promise<{ blob: Blob, bytes: number, warningCount: number, warnings: object[] }>}
 */
export async function convert(source, to, options = {}) {
  requireName(to);
  const { parts, ...answer } = await run('convert', source, options, moduleOf('converting'), { to });
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
  const module = await unlessAborted(prepareToWrite(), signal);
  const moved = transfer ? [...new Set(file.arrays.map(({ array }) => array.buffer))] : [];
  const kind = String(moduleOf('converting'));
  const message = { kind, module, task: 'write', file, others: {}, options: { ...how, to } };
  const { parts, ...answer } = await work(message, moved, signal, () => {});
  return { ...answer, blob: new Blob(parts) };
}

function requireName(to) {
  if (typeof to !== 'string' || to === '') throw new TypeError('polyhaul: the name of the output file is missing');
}

/**
 * Reads the shapes of a file as a renderer draws them: corners without indices. See three.js.
 *
 * @param {number} [options.workers] how many workers may share a large OBJ file: by default, one less than there are cores,
 *   up to 4
 */
export async function draw(source, options = {}) {
  return run('draw', source, options, moduleOf(options.module));
}
