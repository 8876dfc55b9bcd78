// Replacements for the exporters of three.js, with the same arguments and output: change only the import. `parse` runs
// on the calling thread, `parseAsync` in a worker. Loaders are in three.js.
//
//     import { OBJExporter } from 'polyhaul/exporters';

import { Matrix3, Matrix4, Vector3 } from 'three';
import { Engine } from './engine.js';
import { prepareEarly } from './jobs.js';
import { loadNow } from './modules.js';
import { write } from './polyhaul.js';
import { described } from './writing.js';

const address = () => new URL('./polyhaul-convert.wasm', import.meta.url);

/** The base class of the exporters: converts meshes to text or bytes. */
class Exporter {
  constructor() {
    prepareEarly(address());
  }

  /** Returns the bytes of a file synchronously. */
  written(meshes, to, encoding) {
    // A separate instance, so that its memory is freed afterwards.
    const { parts } = new Engine(loadNow(address())).write(described(meshes), { to, encoding, floatColors: true });
    const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
    return encoding === 'ascii' ? new TextDecoder().decode(bytes) : bytes.buffer;
  }

  /** Like `written`, in a worker. */
  async writtenAsync(meshes, to, encoding) {
    const { blob } = await write(meshes, to, { encoding, floatColors: true, transfer: true });
    return encoding === 'ascii' ? blob.text() : blob.arrayBuffer();
  }
}

/** Exports Wavefront OBJ, without a material library. */
export class OBJExporter extends Exporter {
  /** @returns {string} */
  parse(object) {
    const meshes = meshesOf(object).map(plain);
    return meshes.length ? this.written(meshes, 'a.obj', 'ascii') : '';
  }

  /** @returns {Promise<string>} */
  async parseAsync(object) {
    const meshes = meshesOf(object).map(plain);
    return meshes.length ? this.writtenAsync(meshes, 'a.obj', 'ascii') : '';
  }
}

/** Points in OBJ have no normals or UVs. */
function plain({ name, positions, colors, points, ...others }) {
  return points ? { name, positions, colors, points } : { name, positions, colors, ...others };
}

/** Exports STL, with all meshes as one solid. */
export class STLExporter extends Exporter {
  /** @returns {string | DataView} */
  parse(object, { binary = false } = {}) {
    const file = this.written(solid(object), 'a.stl', binary ? undefined : 'ascii');
    return binary ? new DataView(file) : file;
  }

  /** @returns {Promise<string | DataView>} */
  async parseAsync(object, { binary = false } = {}) {
    const file = await this.writtenAsync(solid(object), 'a.stl', binary ? undefined : 'ascii');
    return binary ? new DataView(file) : file;
  }
}

/** Exports PLY, with all meshes and points as one mesh. */
export class PLYExporter extends Exporter {
  /** @returns {string | ArrayBuffer | null} */
  parse(object, onDone, options = {}) {
    const mesh = merged(object, options);
    const file = mesh && this.written(mesh, 'a.ply', encodingOf(options));
    if (typeof onDone === 'function') queueMicrotask(() => onDone(file));
    return file;
  }

  /** @returns {Promise<string | ArrayBuffer | null>} */
  async parseAsync(object, options = {}) {
    const mesh = merged(object, options);
    return mesh && this.writtenAsync(mesh, 'a.ply', encodingOf(options));
  }
}

/** The default of three.js is big-endian. */
function encodingOf({ binary = false, littleEndian = false }) {
  if (!binary) return 'ascii';
  return littleEndian ? undefined : 'big';
}

/** The meshes, lines and points of an object and its descendants, in world space, as `write` expects them. */
function meshesOf(object, isSkinned = false) {
  const meshes = [];
  object.traverse((child) => {
    const kind = child.isMesh ? 'mesh' : child.isLine ? 'line' : child.isPoints ? 'points' : undefined;
    if (kind && child.geometry.hasAttribute('position')) meshes.push(meshOf(child, kind, isSkinned));
  });
  return meshes;
}

function meshOf(child, kind, isSkinned) {
  const { position, normal, uv, color } = child.geometry.attributes;
  const mesh = { name: child.name, positions: placed(child, position, isSkinned) };
  // three.js exports all points and ignores their index.
  const index = kind === 'points' ? null : child.geometry.index;
  const indices = index ? Uint32Array.from(index.array) : Uint32Array.from({ length: position.count }, (_, at) => at);
  if (color && kind !== 'line') mesh.colors = encoded(valuesOf(color, 3));
  if (kind === 'line') return { ...mesh, lines: polylines(child, indices) };
  if (normal) mesh.normals = turned(valuesOf(normal, 3), child.matrixWorld);
  if (uv) mesh.uvs = valuesOf(uv, 2);
  if (kind === 'points') return { ...mesh, points: indices };
  const whole = indices.subarray(0, indices.length - (indices.length % 3));
  return { ...mesh, indices: whole, materials: materialsOf(child, whole.length / 3) };
}

/** The materials with their first faces: one, or one per group. Groups may extend beyond the last face. */
function materialsOf({ material, geometry }, faces) {
  if (!Array.isArray(material)) return material?.name ? [{ face: 0, name: material.name }] : [];
  const uses = geometry.groups.map(({ start, materialIndex: at }) => ({ face: start / 3, name: material[at]?.name }));
  return uses.filter(({ face, name }) => name && Number.isInteger(face) && face < faces).sort((a, b) => a.face - b.face);
}

/** Polylines of at least two points: a single one, or one per pair. */
function polylines({ isLineSegments, isLineLoop }, indices) {
  if (!isLineSegments && indices.length > 1) {
    const positions = new Uint32Array(indices.length + (isLineLoop ? 1 : 0)).fill(indices[0]);
    positions.set(indices);
    return { offsets: Uint32Array.of(0, positions.length), positions };
  }
  const count = indices.length >> 1;
  const offsets = Uint32Array.from({ length: count + 1 }, (_, at) => 2 * at);
  return { offsets, positions: indices.subarray(0, 2 * count) };
}

/** Copies the numbers of an attribute to floats. */
function valuesOf(attribute, width) {
  const { array, count, itemSize, normalized, isInterleavedBufferAttribute } = attribute;
  const isPlain = array instanceof Float32Array && itemSize === width && !normalized && !isInterleavedBufferAttribute;
  if (isPlain) return array.slice(0, width * count);
  const values = new Float32Array(width * count);
  const parts = ['getX', 'getY', 'getZ'].slice(0, width);
  for (let at = 0; at < count; at++) parts.forEach((part, axis) => (values[width * at + axis] = attribute[part](at)));
  return values;
}

const IDENTITY = new Matrix4();

function placed(child, position, isSkinned) {
  const values = valuesOf(position, 3);
  const vector = new Vector3();
  const bends = isSkinned && child.isSkinnedMesh;
  if (!bends && child.matrixWorld.equals(IDENTITY)) return values;
  for (let at = 0; at < values.length; at += 3) {
    vector.fromArray(values, at);
    if (bends) child.applyBoneTransform(at / 3, vector);
    vector.applyMatrix4(child.matrixWorld).toArray(values, at);
  }
  return values;
}

function turned(values, matrixWorld) {
  const matrix = new Matrix3().getNormalMatrix(matrixWorld);
  const vector = new Vector3();
  for (let at = 0; at < values.length; at += 3) {
    vector.fromArray(values, at).applyMatrix3(matrix).normalize().toArray(values, at);
  }
  return values;
}

/** Converts linear colors to sRGB (IEC 61966-2-1). */
function encoded(values) {
  return values.map((value) => (value < 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055));
}

function solid(object) {
  const meshes = meshesOf(object, true).filter(({ indices }) => indices);
  return { ...joined(meshes, ['positions']), name: 'exported' };
}

/** Merges all meshes and points, with every attribute that any of them has; nothing if there are no meshes. */
function merged(object, { excludeAttributes = [], customPropertyMapping = {} }) {
  const isCustom = Object.keys(customPropertyMapping).length > 0;
  if (isCustom) throw new TypeError('polyhaul: `customPropertyMapping` is not supported');
  const meshes = meshesOf(object).filter(({ lines }) => !lines);
  if (meshes.length === 0) return null;
  // UVs are written only if a mesh has them; UVs of points do not count.
  const has = (kind) => meshes.some((one) => one[kind] && (kind !== 'uvs' || one.indices));
  const kept = ['normal', 'uv', 'color'].filter((kind) => !excludeAttributes.includes(kind)).map((kind) => `${kind}s`);
  const { indices, ...mesh } = joined(meshes, ['positions', ...kept.filter(has)]);
  const hasFaces = !excludeAttributes.includes('index') && meshes.every((one) => one.indices);
  return hasFaces ? { ...mesh, indices } : mesh;
}

/** Merges meshes. Missing attributes become zeros, missing colors white. */
function joined(meshes, kinds) {
  let total = 0;
  const begins = meshes.map(({ positions }) => (total += positions.length / 3) - positions.length / 3);
  const mesh = {};
  for (const kind of kinds) {
    const width = kind === 'uvs' ? 2 : 3;
    mesh[kind] = new Float32Array(width * total).fill(kind === 'colors' ? 1 : 0);
    meshes.forEach((one, at) => one[kind] && mesh[kind].set(one[kind], width * begins[at]));
  }
  mesh.indices = new Uint32Array(meshes.reduce((sum, { indices }) => sum + (indices?.length ?? 0), 0));
  let place = 0;
  meshes.forEach(({ indices = [] }, at) => indices.forEach((index) => (mesh.indices[place++] = index + begins[at])));
  return mesh;
}
