// The exports of the package `polyhaul`: reading and writing in workers. The classes for three.js are in three.js, the
// module and its memory in engine.js.

import { prepareModule, run, unlessAborted } from './jobs.js';
import { work } from './pool.js';
import { described } from './writing.js';

export { PolyhaulError } from './engine.js';
export { dispose } from './pool.js';

/** The modules: one that reads, a larger one that also converts, and one for each of three single formats. */
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
 * Loads the module that reads, and starts a worker, so that both are ready for the first file.
 *
 * @param {'reading' | 'obj' | 'ply' | 'stl'} [kind] the module; a smaller one reads only one format
 */
export async function prepare(kind) {
  return prepareModule(moduleOf(kind));
}

/** Like `prepare`, for the module that converts and writes. */
export function prepareToWrite() {
  return prepare('converting');
}

/**
 * Reads a scene or a mesh in a worker.
 *
 * @param {Blob | ArrayBuffer | ArrayBufferView | string | URL} source a file, its bytes, or its address
 * @param {object} [options]
 * @param {string} [options.name] the file name, whose extension selects the format; by default the name of the `File`,
 *   or the last part of the URL
 * @param {'obj' | 'ply' | 'stl'} [options.module] use a smaller module, which reads only this format
 * @param {string} [options.format] the format, such as `'obj'`; by default inferred from the name or the content
 * @param {boolean} [options.skip] skip invalid statements with a warning instead of failing
 * @param {'auto' | 'single' | 'double'} [options.precision] the precision of positions
 * @param {Record<string, Blob | ArrayBuffer>} [options.others] files that it may refer to, by the names in the file
 * @param {boolean} [options.transfer] transfer an `ArrayBuffer` to the worker instead of copying it
 * @param {number} [options.rangeBytes] the size of the ranges in which a large file is loaded, if the server supports
 *   them; 0 loads it as a whole
 * @param {AbortSignal} [options.signal]
 * @param {(bytes: number, total: number) => void} [options.onProgress]
 * @returns {Promise<object>} the scene
 * @throws {PolyhaulError} with the line and column of the fault
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
 * Converts a file to another format, in a worker.
 *
 * @param {string} to the name of the output, whose extension selects its format: `'scene.ply'`
 * @returns {Promise<{ blob: Blob, bytes: number, warningCount: number, warnings: object[] }>}
 */
export async function convert(source, to, options = {}) {
  requireName(to);
  const { parts, ...answer } = await run('convert', source, options, moduleOf('converting'), { to });
  return { ...answer, blob: new Blob(parts) };
}

/**
 * Writes meshes or tables to a blob, in a worker.
 *
 * @param {object | object[]} source meshes, which have `positions`, or tables, which have `columns`
 * @param {string} to the name of the file, whose extension selects the format: `'scene.obj'`
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
 * Reads a file into unindexed vertex buffers, ready to render. See three.js.
 *
 * @param {number} [options.workers] the maximum number of workers for a large OBJ file: by default, the number of cores
 *   minus one, at most 4
 */
export async function draw(source, options = {}) {
  return run('draw', source, options, moduleOf(options.module));
}
