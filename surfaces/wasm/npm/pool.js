// Workers, in browsers and in Node: each has one job at a time, and is kept for the next one. They are started as jobs
// come, and ended when a job is given up. What a job is, worker.js knows.

import { PolyhaulError } from './engine.js';

const idle = new Set();
/** Idle workers that are kept: each has the memory of its largest job. */
const MOST_IDLE = Math.max(4, globalThis.navigator?.hardwareConcurrency ?? 4);

/** Starts a worker, if none is idle, so that it is there for the first job. */
export async function warm() {
  if (idle.size === 0) idle.add(await started());
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
  const worker = await hold();
  try {
    return await worker.run(message, moved, signal, onProgress);
  } finally {
    release(worker);
  }
}

/** A worker for several jobs, one after another: nobody else gets it until it is released. */
export async function hold() {
  const [found] = idle;
  if (found) idle.delete(found);
  return found ?? started();
}

/** Whoever held a worker needs it no more. */
export function release(worker) {
  if (worker.isOver) return;
  if (idle.size < MOST_IDLE) idle.add(worker);
  else worker.end();
}

async function started() {
  const url = new URL('./worker.js', import.meta.url);
  if (typeof Worker !== 'undefined') return new Hand(new Worker(url, { type: 'module' }));
  const { Worker: NodeWorker } = await import('node:worker_threads');
  return new Hand(new NodeWorker(url));
}

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
      inner.onerror = inner.onmessageerror = ({ message }) => broken(new Error(message ?? 'the worker failed'));
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
