// A worker: an instance of a module behind messages. Each message is a job, and gets one reply after any number of
// messages about progress.

import { Engine, ITEM_SIZES, blobFile, bytesFile } from './engine.js';

const port = globalThis.postMessage ? globalThis : (await import('node:worker_threads')).parentPort;
let engine;
let engineKind;

/** What a message can ask for. */
const TASKS = {
  read(_, ...request) {
    const { shapes, ...scene } = engine.read(...request);
    return engine.copied(scene);
  },
  draw: (_, ...request) => engine.draw(...request),
  convert: (_, ...request) => engine.convert(...request),
  part: (_, ...request) => engine.readPart(...request),
  join: ({ text, parts }) => engine.join(text, parts),
  corners({ own }) {
    const given = {};
    for (const { number, shape, isKept } of own) {
      const attributes = engine.corners(shape, number);
      if (isKept) room[number] = attributes;
      else given[number] = attributes;
    }
    return given;
  },
  append({ rest }) {
    for (const { number, start, attributes } of rest) {
      for (const [name, values] of Object.entries(attributes)) {
        room[number][name].set(values, start * ITEM_SIZES[name]);
      }
    }
    return room;
  },
  forget() {},
};

/** The jobs after which there will be others about the same file. */
const LASTING = ['part', 'join', 'corners'];
/** Shapes of which others have a part, and the file, while there will be other jobs about it. */
let room = {};
let kept;

const receive = (message) => {
  const { kind, module, task, file, range, others, options } = message;
  try {
    if (!engine || kind !== engineKind) engine = new Engine(module);
    engineKind = kind;
    kept = file ?? kept;
    let told = 0;
    const onProgress = (bytes) => {
      if (bytes < told + (4 << 20)) return;
      told = bytes;
      port.postMessage({ progress: bytes });
    };
    const files = new Map(Object.entries(others).map(([name, other]) => [name, opened(other)]));
    const result = TASKS[task](message, opened(kept, range), options, files, onProgress);
    if (!LASTING.includes(task)) {
      engine.forget();
      [room, kept] = [{}, undefined];
    }
    port.postMessage({ result }, [...buffers(result)]);
  } catch (error) {
    // Of an instance that failed in the middle, nothing is known.
    engine = undefined;
    room = {};
    const { message, stack, ...fields } = error;
    port.postMessage({ error: { ...fields, message, isOurs: error.name === 'PolyhaulError' } });
  }
};

if (globalThis.postMessage) globalThis.onmessage = ({ data }) => receive(data);
else port.on('message', receive);

function opened(file, range = []) {
  if (!file) return undefined;
  return typeof Blob !== 'undefined' && file instanceof Blob && typeof FileReaderSync !== 'undefined'
    ? blobFile(range.length ? file.slice(...range) : file)
    : bytesFile(new Uint8Array(file).subarray(...range));
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
