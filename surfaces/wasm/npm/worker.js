// A worker: runs an instance of a module. Each message to the worker is a job, which is answered by any number of
// progress messages and one reply.

import { Engine, ITEM_SIZES, blobFile, bytesFile, diskFile, nodeModule } from './engine.js';
import { RangeFile } from './remote.js';

const port = globalThis.postMessage ? globalThis : nodeModule('worker_threads').parentPort;
let engine;
let engineKind;

/** The tasks of messages. */
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

/** Tasks that are followed by others on the same file. */
const LASTING = ['part', 'join', 'corners'];
/** Shapes that other workers also draw, and the file, as long as more jobs on it follow. */
let room = {};
let kept;

const receive = async (message) => {
  const { kind, module, task, file, range, others, options } = message;
  const files = new Map();
  let main;
  try {
    kept = file ?? kept;
    // The task `write` has no input file.
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
    // The state of an instance that failed during a call is undefined.
    engine = undefined;
    room = {};
    // A single worker may continue with a file that cannot be read in parts.
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

/** Smaller arrays are copied: a message that transfers very many arrays takes longer than copying them. */
const LEAST_MOVED_BYTES = 1 << 16;

/** The memory of the large arrays in a result, to be transferred instead of copied. */
function* buffers(value) {
  if (ArrayBuffer.isView(value)) {
    if (value.byteLength >= LEAST_MOVED_BYTES) yield value.buffer;
  } else if (value && typeof value === 'object') {
    for (const part of Object.values(value)) yield* buffers(part);
  }
}
