// A worker: an instance of a module behind messages. Each message is a job, and gets one reply after any number of
// messages about progress.

import { Engine, ITEM_SIZES, blobFile, bytesFile, diskFile, nodeModule } from './engine.js';
import { RangeFile } from './remote.js';

const port = globalThis.postMessage ? globalThis : nodeModule('worker_threads').parentPort;
let engine;
let engineKind;

/** What a message can ask for. */
const TASKS = {
  async read(_, file, options, ...others) {
    const { shapes, ...scene } = await engine.read(file, options, ...others);
    return engine.copied(scene);
  },
  draw: async (_, file, options, ...others) => engine.drawn(await engine.read(file, { ...options, drawn: true }, ...others)),
  convert: (_, ...request) => engine.convert(...request),
  part: async (_, file, options, ...others) => engine.part(await engine.read(file, { ...options, part: true }, ...others)),
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
  write: ({ file }, _, options) => engine.write(file, options),
  forget() {},
};

/** The jobs after which there will be others about the same file. */
const LASTING = ['part', 'join', 'corners'];
/** Shapes of which others have a part, and the file, while there will be other jobs about it. */
let room = {};
let kept;

const receive = async (message) => {
  const { kind, module, task, file, range, others, options } = message;
  const files = new Map();
  let main;
  try {
    kept = file ?? kept;
    // What is written is no file.
    main = task === 'write' ? undefined : await opened(kept, range);
    const suspends = Boolean(main?.ready);
    if (engine?.suspends !== suspends || kind !== engineKind) engine = new Engine(module, suspends);
    engineKind = kind;
    let told = 0;
    const onProgress = (bytes) => {
      if (bytes < told + (4 << 20)) return;
      told = bytes;
      port.postMessage({ progress: bytes });
    };
    for (const [name, other] of Object.entries(others)) files.set(name, await opened(other));
    const result = await TASKS[task](message, main, options, files, onProgress);
    if (!LASTING.includes(task)) {
      engine.forget();
      [room, kept] = [{}, undefined];
    }
    port.postMessage({ result }, [...buffers(result)]);
  } catch (error) {
    // Of an instance that failed in the middle, nothing is known.
    engine = undefined;
    room = {};
    // One worker alone may go on with a file that cannot be read in parts.
    if (!LASTING.includes(task)) kept = undefined;
    const { message, stack, ...fields } = error;
    port.postMessage({ error: { ...fields, message, isOurs: error.name === 'PolyhaulError' } });
  } finally {
    for (const file of [main, ...files.values()]) file?.close?.();
  }
};

if (globalThis.postMessage) globalThis.onmessage = ({ data }) => receive(data);
else port.on('message', receive);

async function opened(file, range = []) {
  if (!file) return undefined;
  if (file.url) return new RangeFile(file);
  if (file.path) return diskFile(file);
  if (!(globalThis.Blob && file instanceof Blob)) return bytesFile(new Uint8Array(file).subarray(...range));
  const part = range.length ? file.slice(...range) : file;
  return globalThis.FileReaderSync ? blobFile(part) : bytesFile(new Uint8Array(await part.arrayBuffer()));
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
