// The pool of workers, in browsers and in Node. A worker runs one job at a time, and is reused for the next one.
// Workers are started on demand, and terminated if their job is aborted. Jobs are defined in worker.js.

import { PolyhaulError, nodeModule } from './engine.js';
import { isMoved, placeOf } from './modules.js';

const idle = new Set();
/** The maximum number of idle workers, each of which keeps the memory of its largest job. */
const MOST_IDLE = Math.max(4, globalThis.navigator?.hardwareConcurrency ?? 4);

/**
 * Starts a worker if none is idle, so that it is ready for the first job.
 *
 * @param {URL | string} module the address of the module
 */
export async function warm(module) {
  if (idle.size === 0) idle.add(started(module));
}

/** Terminates the idle workers. The next job starts a new one. */
export function dispose() {
  for (const worker of idle) worker.end();
}

/**
 * Runs a job in a worker.
 *
 * @param {object} message the job
 * @param {ArrayBuffer[]} moved memory to transfer to the worker, which is empty here afterwards
 * @param {AbortSignal} [signal]
 * @param {(bytes: number) => void} onProgress
 */
export async function work(message, moved, signal, onProgress) {
  const worker = await hold(message.kind);
  try {
    return await worker.run(message, moved, signal, onProgress);
  } finally {
    release(worker);
  }
}

/** Reserves a worker for several sequential jobs, until it is released. */
export async function hold(module) {
  const [found] = idle;
  if (found) idle.delete(found);
  return found ?? started(module);
}

/** Returns a reserved worker to the pool. */
export function release(worker) {
  if (worker.isOver) return;
  if (idle.size < MOST_IDLE) idle.add(worker);
  else worker.end();
}

function started(module) {
  if (typeof Worker !== 'undefined') return new Hand(browserWorker(module));
  const threads = nodeModule('worker_threads');
  if (!threads) throw new Error('polyhaul: workers are not available here, or Node is older than 20.16');
  return new Hand(new threads.Worker(beside(module)));
}

/** The address of the script, unless a bundler moved it. */
const beside = (module) => new URL('worker.js', placeOf(module));

/** Bundlers look for this expression, and may replace the address in it. */
const bundledWorker = () => new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });

function browserWorker(module) {
  if (isMoved(module)) return new Worker(beside(module), { type: 'module' });
  try {
    return bundledWorker();
  } catch (error) {
    // The script of a worker must have the origin of the page, but may import from other origins, such as a CDN.
    if (error.name !== 'SecurityError') throw error;
    const script = new Blob([`import ${JSON.stringify(bundledAddress())};`], { type: 'text/javascript' });
    return new Worker(URL.createObjectURL(script), { type: 'module' });
  }
}

/** The address in the expression of `bundledWorker`, found by replacing the class `Worker` temporarily. */
function bundledAddress() {
  const { Worker } = globalThis;
  let address;
  globalThis.Worker = class {
    constructor(url) {
      address = new URL(url, location.href).href;
    }
  };
  try {
    bundledWorker();
  } finally {
    globalThis.Worker = Worker;
  }
  return address;
}

/** Browsers do not report the reason. */
const NOT_STARTED =
  'polyhaul: the worker cannot start: is its script where the page expects it (see "Bundlers" in the readme of the ' +
  "package), and does the page's Content-Security-Policy allow it?";

/** A worker and its job, if it has one. Messages without a job are ignored. */
class Hand {
  #job;
  /** Whether the worker was terminated. */
  isOver = false;

  constructor(inner) {
    this.inner = inner;
    const heard = (reply) => this.#job?.heard(reply);
    const broken = (error) => this.#broken(error ?? new Error('the worker failed'));
    if (inner.on) {
      inner.on('message', heard);
      for (const event of ['error', 'messageerror']) inner.on(event, broken);
      inner.on('exit', (code) => broken(new Error(`the worker ended with code ${code}`)));
      // A worker without a job does not keep the program alive.
      inner.unref();
    } else {
      inner.onmessage = ({ data }) => heard(data);
      inner.onerror = ({ message }) => broken(new Error(message ?? NOT_STARTED));
      inner.onmessageerror = () => broken();
    }
  }

  run(message, moved, signal, onProgress) {
    return new Promise((resolve, reject) => {
      // Neither causes an event later.
      signal?.throwIfAborted();
      if (this.isOver) throw new Error('the worker has ended');
      const settle = (result) => {
        signal?.removeEventListener('abort', giveUp);
        this.#job = undefined;
        this.inner.unref?.();
        result();
      };
      const fail = (error) => {
        this.end();
        settle(() => reject(error));
      };
      const giveUp = () => fail(signal.reason);
      const heard = (reply) => {
        if (reply.progress === undefined) {
          settle(() => (reply.error ? reject(errorOf(reply.error)) : resolve(reply.result)));
          return;
        }
        try {
          onProgress(reply.progress);
        } catch (error) {
          fail(error);
        }
      };
      this.#job = { heard, fail };
      signal?.addEventListener('abort', giveUp);
      try {
        this.inner.postMessage(message, moved);
        this.inner.ref?.();
      } catch (error) {
        settle(() => reject(error));
      }
    });
  }

  #broken(error) {
    if (this.#job) this.#job.fail(error);
    else this.end();
  }

  end() {
    this.isOver = true;
    idle.delete(this);
    this.inner.terminate();
  }
}

function errorOf({ isOurs, ...fields }) {
  return isOurs ? new PolyhaulError(fields) : new Error(fields.message);
}
