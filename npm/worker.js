// A worker: an instance of the module behind messages. Each message is a job, and gets one reply after any number of
// messages about progress.

import { Engine, blobFile, bytesFile } from './engine.js';

const port = globalThis.postMessage ? globalThis : (await import('node:worker_threads')).parentPort;
let engine;

/** What a message can ask for. */
const TASKS = {
  read(...request) {
    const { shapes, ...scene } = engine.read(...request);
    return engine.copied(scene);
  },
  draw: (...request) => engine.drawn(engine.read(...request)),
  convert: (...request) => engine.convert(...request),
};

const receive = ({ module, task, file, others, options }) => {
  try {
    engine ??= new Engine(module);
    let told = 0;
    const onProgress = (bytes) => {
      if (bytes < told + (4 << 20)) return;
      told = bytes;
      port.postMessage({ progress: bytes });
    };
    const files = new Map(Object.entries(others).map(([name, other]) => [name, opened(other)]));
    const result = TASKS[task](opened(file), options, files, onProgress);
    engine.forget();
    port.postMessage({ result }, [...buffers(result)]);
  } catch (error) {
    // Of an instance that failed in the middle, nothing is known.
    engine = undefined;
    const { message, stack, ...fields } = error;
    port.postMessage({ error: { ...fields, message, isOurs: error.name === 'PolyhaulError' } });
  }
};

if (globalThis.postMessage) globalThis.onmessage = ({ data }) => receive(data);
else port.on('message', receive);

function opened(file) {
  return typeof Blob !== 'undefined' && file instanceof Blob && typeof FileReaderSync !== 'undefined'
    ? blobFile(file)
    : bytesFile(new Uint8Array(file));
}

/** Smaller arrays are copied: a message that moves very many takes longer than copying them. */
const LEAST_MOVED_BYTES = 1 << 16;

/** The memory of the large arrays in a result, to be moved rather than copied. */
function* buffers(value) {
  if (ArrayBuffer.isView(value)) {
    if (value.byteLength >= LEAST_MOVED_BYTES) yield value.buffer;
  } else if (value && typeof value === 'object') {
    for (const part of Object.values(value)) yield* buffers(part);
  }
}
