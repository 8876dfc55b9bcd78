// Workers, in browsers and in Node: each has one job at a time, and is kept for the next one. They are started as jobs
// come, and ended when a job is given up. What a job is, worker.js knows.

import { PolyhaulError, nodeModule } from './engine.js';
import { isMoved, placeOf } from './modules.js';

const idle = new Set();
/** Idle workers that are kept: each has the memory of its largest job. */
const MOST_IDLE = Math.max(4, globalThis.navigator?.hardwareConcurrency ?? 4);

/**
 * Starts a worker, if none is idle, so that it is there for the first job.
 *
 * @param {URL | string} module what it will work with
 */
export async function warm(module) {
  if (idle.size === 0) idle.add(started(module));
}

/** Ends the workers that are kept for other jobs, which would start new ones. */
export function dispose() {
  for (const worker of idle) worker.end();
}

/**
 * Does a job in a worker.
 *
 * @param {object} message the job
 * @param {ArrayBuffer[]} moved memory that the worker gets, and that is empty here afterwards
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

/** A worker for several jobs, one after another: nobody else gets it until it is released. */
export async function hold(module) {
  const [found] = idle;
  if (found) idle.delete(found);
  return found ?? started(module);
}

/** Whoever held a worker needs it no more. */
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

/** The script, where no bundler has moved it. */
const beside = (module) => new URL('worker.js', placeOf(module));

/** Bundlers look for this expression, and may replace the address in it. */
const bundledWorker = () => new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });

function browserWorker(module) {
  if (isMoved(module)) return new Worker(beside(module), { type: 'module' });
  try {
    return bundledWorker();
  } catch (error) {
    // A worker must have the origin of the page, but may import from others, such as that of a CDN.
    if (error.name !== 'SecurityError') throw error;
    const script = new Blob([`import ${JSON.stringify(bundledAddress())};`], { type: 'text/javascript' });
    return new Worker(URL.createObjectURL(script), { type: 'module' });
  }
}

/** The address in the expression, which nothing else tells. */
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

/** Browsers do not say why. */
const NOT_STARTED =
  'polyhaul: the worker cannot start: is its script where the page expects it (see "Bundlers" in the readme of the ' +
  "package), and does the page's Content-Security-Policy allow it?";

/** A worker and its job, if it has one. What it says later is not heard. */
class Hand {
  #job;
  /** Whether it was ended. */
  isOver = false;

  constructor(inner) {
    this.inner = inner;
    const heard = (reply) => this.#job?.heard(reply);
    const broken = (error) => this.#broken(error ?? new Error('the worker failed'));
    if (inner.on) {
      inner.on('message', heard);
      for (const event of ['error', 'messageerror']) inner.on(event, broken);
      inner.on('exit', (code) => broken(new Error(`the worker ended with code ${code}`)));
      // Without a job it does not keep the program alive.
      inner.unref();
    } else {
      inner.onmessage = ({ data }) => heard(data);
      inner.onerror = ({ message }) => broken(new Error(message ?? NOT_STARTED));
      inner.onmessageerror = () => broken();
    }
  }

  run(message, moved, signal, onProgress) {
    return new Promise((resolve, reject) => {
      // Neither would be told again.
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
