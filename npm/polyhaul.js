// Reading in workers: what `import { read } from 'polyhaul'` gives. three.js' classes are in three.js, the module and its
// memory in engine.js.

import { PolyhaulError, compile } from './engine.js';

export { PolyhaulError } from './engine.js';

let compiled;
const idle = [];
let jobs = 0;

/** The module, compiled once. Call it early to have it ready when the first file comes. */
export function prepare() {
  compiled ??= compile();
  return compiled;
}

/**
 * Reads a scene or a mesh in a worker.
 *
 * @param {Blob | ArrayBuffer | ArrayBufferView | string | URL} source a file, its bytes, or where it is
 * @param {object} [options]
 * @param {string} [options.name] the name of the file, which tells its format; that of a `File` or a URL by itself
 * @param {string} [options.format] the format, if neither the name nor the content tells: `'obj'`, `'ply'`, ...
 * @param {boolean} [options.skip] leave out what breaks the format's rules, with warnings, instead of failing
 * @param {Record<string, Blob | ArrayBuffer>} [options.others] files that this one may refer to, by the names it has for them
 * @param {boolean} [options.transfer] move an `ArrayBuffer` to the worker instead of copying it: it is empty afterwards
 * @param {AbortSignal} [options.signal]
 * @param {(bytes: number, total: number | undefined) => void} [options.onProgress]
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
  const { parts, ...answer } = await run('convert', source, options, { to });
  return { ...answer, blob: new Blob(parts) };
}

/** Reads the shapes of a file as a renderer draws them: corners without indices. See three.js. */
export async function draw(source, options = {}) {
  return run('draw', source, options);
}

async function run(task, source, { name, format, skip, others, transfer, signal, onProgress }, more = {}) {
  signal?.throwIfAborted();
  const [module, file] = await Promise.all([prepare(), opened(source, signal)]);
  signal?.throwIfAborted();
  const total = file.size ?? file.byteLength;
  // What was made here need not be kept.
  const moved = file instanceof ArrayBuffer && (transfer || file !== source) ? [file] : [];
  const message = { module, task, file, others, options: { name: name ?? nameOf(source), format, skip, ...more } };
  return inWorker(message, moved, signal, (bytes) => onProgress?.(bytes, total));
}

/** What a worker can read: a blob by its parts, anything else as a copy of its bytes. */
async function opened(source, signal) {
  if (typeof source === 'string' || source instanceof URL) {
    const response = await fetch(source, { signal });
    if (!response.ok) throw new Error(`polyhaul: cannot load ${source}: ${response.status} ${response.statusText}`);
    return isNode() ? response.arrayBuffer() : response.blob();
  }
  // Node's workers cannot wait for the parts of a blob.
  if (source instanceof Blob) return isNode() ? source.arrayBuffer() : source;
  // Not `source.slice`: that of Node's buffers copies nothing.
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength).slice().buffer;
  return source;
}

function nameOf(source) {
  if (typeof source === 'string' || source instanceof URL) {
    return decodeURIComponent(new URL(source, 'file:').pathname.split('/').pop());
  }
  return source.name ?? '';
}

/** One job of a worker, which is used again unless the job was given up. */
async function inWorker(message, moved, signal, onProgress) {
  const worker = idle.pop() ?? (await started());
  const id = jobs++;
  const { promise, resolve, reject } = withResolvers();
  const leave = () => {
    worker.terminate();
    reject(signal.reason);
  };
  signal?.addEventListener('abort', leave);
  worker.take = (reply) => {
    if (reply.id !== id) return;
    if (reply.progress !== undefined) return onProgress(reply.progress);
    idle.push(worker);
    if (reply.error) reject(reply.error.isOurs ? new PolyhaulError(reply.error) : new Error(reply.error.message));
    else resolve(reply.result);
  };
  worker.fail = reject;
  worker.post({ id, ...message }, moved);
  try {
    return await promise;
  } finally {
    signal?.removeEventListener('abort', leave);
  }
}

/** A worker of the browser or of Node, with the same few methods. */
async function started() {
  const url = new URL('./worker.js', import.meta.url);
  if (!isNode()) {
    const inner = new Worker(url, { type: 'module' });
    const worker = { post: (message, moved) => inner.postMessage(message, moved), terminate: () => inner.terminate() };
    inner.onmessage = ({ data }) => worker.take(data);
    inner.onerror = (event) => worker.fail(new Error(`polyhaul: ${event.message ?? 'the worker failed'}`));
    return worker;
  }
  const threads = await import('node:worker_threads');
  const inner = new threads.Worker(url);
  const worker = { post: (message, moved) => inner.postMessage(message, moved), terminate: () => inner.terminate() };
  inner.on('message', (data) => worker.take(data));
  inner.on('error', (error) => worker.fail(error));
  // Without work it does not keep the program alive.
  const { post } = worker;
  worker.post = (message, moved) => (inner.ref(), post(message, moved));
  inner.on('message', ({ progress }) => progress === undefined && inner.unref());
  return worker;
}

function isNode() {
  return typeof Worker === 'undefined';
}

function withResolvers() {
  const found = {};
  found.promise = new Promise((resolve, reject) => Object.assign(found, { resolve, reject }));
  return found;
}
