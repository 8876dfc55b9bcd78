// Jobs in workers: opens a file, loads a module, and passes both to a worker. The public functions are in polyhaul.js
// and loaders.js.

import { canSuspend } from './engine.js';
import { load } from './modules.js';
import { drawInParts, workersFor } from './parts.js';
import { warm, work } from './pool.js';
import { disk, remote } from './remote.js';

/**
 * Loads a module, and starts a worker, so that both are ready for the first file.
 *
 * @param {URL} url the address of the module
 * @returns {Promise<WebAssembly.Module>}
 */
export async function prepareModule(url) {
  const [module] = await Promise.all([load(url), warm(url)]);
  return module;
}

/** Like `prepareModule`, in browsers only. Failures are reported by the first job. On a server, does nothing. */
export function prepareEarly(url) {
  if (typeof Worker !== 'undefined') prepareModule(url).catch(() => {});
}

/**
 * Runs a job on a file.
 *
 * @param {'read' | 'draw' | 'convert'} task
 * @param {Blob | ArrayBuffer | ArrayBufferView | string | URL} source
 * @param {object} options the options of `read`, and `workers`
 * @param {URL} url the address of the module
 * @param {object} [more] options for the engine
 */
export async function run(task, source, options, url, more = {}) {
  const { name, format, skip, precision, others = {}, onProgress, workers, ...how } = options;
  const { signal } = how;
  signal?.throwIfAborted();
  const named = Object.entries(others).map(async ([name, other]) => [name, (await opened(other, { rangeBytes: 0 })).file]);
  const inputs = [prepareModule(url), opened(source, how), Promise.all(named)];
  const [module, { file, moved = [] }, files] = await unlessAborted(Promise.all(inputs), signal);
  const total = file.size ?? file.byteLength;
  const request = { name: name ?? nameOf(source, file), format, skip, precision, ...more };
  const message = { kind: String(url), module, task, file, others: Object.fromEntries(files), options: request };
  const tell = (bytes) => onProgress?.(bytes, total);
  const isObj = task === 'draw' && (format ?? request.name.split('.').pop()).toLowerCase() === 'obj';
  // A file that is not loaded yet cannot be divided into parts.
  const count = isObj && file.slice ? workersFor(total, workers) : 1;
  return count > 1 ? drawInParts(file, count, message, moved, signal, tell) : work(message, moved, signal, tell);
}

/** Returns a promise with the result of `promise`, which an abort rejects immediately. */
export function unlessAborted(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

/** Opens a source for a worker; also returns the memory to transfer. A view of a part of a buffer is copied. */
async function opened(source, { transfer, signal, rangeBytes }) {
  if (typeof source === 'string' || source instanceof URL) {
    return (await disk(source)) ?? remote(source, signal, canSuspend ? rangeBytes : 0);
  }
  if (source instanceof Blob) {
    if (typeof Worker !== 'undefined') return { file: source };
    // Node's workers cannot wait for the parts of a blob.
    const file = await source.arrayBuffer();
    return { file, moved: [file] };
  }
  if (ArrayBuffer.isView(source)) {
    // Not `source.slice`, which does not copy Node's buffers.
    const file = new Uint8Array(source.buffer, source.byteOffset, source.byteLength).slice().buffer;
    return { file, moved: [file] };
  }
  if (!(source instanceof ArrayBuffer)) {
    throw new TypeError('polyhaul: the source is not a Blob, ArrayBuffer, view or URL');
  }
  // Throws if the buffer was transferred.
  new Uint8Array(source);
  return { file: source, moved: transfer ? [source] : [] };
}

function nameOf(source, { path }) {
  if (path) return path.split(/[\\/]/).pop();
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
