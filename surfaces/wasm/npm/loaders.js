// Replacements for the loaders of three.js, with the same results: `load` and `loadAsync` run in a worker, `parse` on
// the calling thread. Pages import them from three.js, or from obj.js, ply.js and stl.js, which also load the module.

import {
  BufferAttribute,
  BufferGeometry,
  DoubleSide,
  Group,
  LineBasicMaterial,
  LineSegments,
  Loader,
  Material,
  Mesh,
  MeshPhongMaterial,
  Points,
  PointsMaterial,
  RepeatWrapping,
  SRGBColorSpace,
  TextureLoader,
} from 'three';
import { Engine, PolyhaulError, bytesFile } from './engine.js';
import { prepareEarly, run } from './jobs.js';
import { fileLoaderOf } from './materials.js';
import { loadNow } from './modules.js';

/** The base class of the loaders: `load` uses the FileLoader of three.js, then a worker. */
class PolyhaulLoader extends Loader {
  #leave = new AbortController();

  constructor(manager) {
    super(manager);
    if (this.module) prepareEarly(this.module);
  }

  /** The address of the module. */
  get module() {
    return undefined;
  }

  /** Whether the loader uses corners instead of the arrays of a mesh. */
  get isDrawn() {
    return true;
  }

  load(url, onLoad, onProgress, onError) {
    const signal = this.#signal();
    // All concurrent loads of a file would share a buffer, which could not be transferred to a worker.
    const loader = fileLoaderOf(this, 'blob');
    const leave = () => loader.abort?.();
    const fail = (error) => {
      if (onError) onError(error);
      else console.error(error);
      this.manager.itemError(url);
    };
    const loaded = async (blob) => {
      // The manager waits until the model is read, not only until the file is loaded.
      this.manager.itemStart(url);
      try {
        const answer = await run(this.isDrawn ? 'draw' : 'read', blob, { ...this.requested(url), signal }, this.module);
        onLoad(this.checked(answer, url));
      } catch (error) {
        fail(error);
      } finally {
        signal.removeEventListener('abort', leave);
        this.manager.itemEnd(url);
      }
    };
    const failed = (error) => {
      signal.removeEventListener('abort', leave);
      // Another loader that was loading the same file aborted it.
      if (error.name === 'AbortError' && !signal.aborted) this.load(url, onLoad, onProgress, onError);
      else onError?.(error);
    };
    signal.addEventListener('abort', leave);
    loader.load(url, loaded, onProgress, failed);
  }

  /** Aborts all loads, including work in workers. The loader can be used again. */
  abort() {
    this.#leave.abort();
    this.#leave = new AbortController();
    return this;
  }

  /** The signal that aborts a load: of this loader, or of its manager. */
  #signal() {
    const { signal } = this.#leave;
    const { abortController } = this.manager;
    return abortController && AbortSignal.any ? AbortSignal.any([signal, abortController.signal]) : signal;
  }

  /** @param {ArrayBuffer | string} data */
  parse(data) {
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : new Uint8Array(data);
    // A separate instance, so that its memory is freed afterwards.
    const engine = new Engine(loadNow(this.module));
    const answer = engine.read(bytesFile(bytes), { ...this.requested(''), drawn: this.isDrawn });
    return this.checked(this.isDrawn ? engine.drawn(answer) : engine.copied(answer));
  }

  /**
   * Converts an answer for three.js. A truncated file is an error. Other faults, which the loaders of three.js ignore,
   * are logged to the console and listed in `userData` of the result.
   */
  checked({ warnings, warningCount, ...answer }, url = '') {
    const cut = warnings.find(({ code }) => code === 'truncated');
    if (cut) throw new PolyhaulError({ ...cut, kind: 'malformed', message: described(cut) });
    const built = this.built(answer);
    // Materials are loaded separately, so missing ones are not faults.
    const faults = warnings.filter(({ severity }) => severity === 'fault');
    if (faults.length > 0) {
      built.userData.polyhaul = { warningCount, warnings };
      const count = warningCount > 1 ? ` (warnings: ${warningCount})` : '';
      console.warn(`polyhaul: ${String(url).slice(0, 200)}${url ? ': ' : ''}${described(faults[0])}${count}`);
    }
    return built;
  }

  /** The options of a request. Like the loaders of three.js, they skip invalid statements. */
  requested(url) {
    const name = String(url).split(/[?#]/)[0].split('/').pop();
    return { name, format: this.format, skip: true };
  }
}

/** Formats a warning with its location as a line. */
function described({ text, line, offset, expected }) {
  const place = line === undefined ? offset !== undefined && `byte ${offset}` : `line ${line}`;
  return `${place ? `${place}: ` : ''}${text}${expected ? `; expected ${expected}` : ''}`;
}

/** Loads Wavefront OBJ as a group of meshes, lines and points. */
export class OBJLoader extends PolyhaulLoader {
  constructor(manager) {
    super(manager);
    this.materials = null;
    this.format = 'obj';
  }

  /** Sets the materials that an `MTLLoader` read, either this one or that of three.js. */
  setMaterials(materials) {
    this.materials = materials;
    return this;
  }

  built({ shapes, meshes, materials, materialLibraries }) {
    const group = new Group();
    group.materialLibraries = materialLibraries;
    const made = new Map();
    const name = (use) => materials[use.material]?.name ?? '';
    for (const shape of shapes) {
      const geometry = geometryOf(shape.attributes);
      const own = shape.uses.map((use) => this.#material(made, shape, name(use), use.smooth));
      if (own.length > 1) shape.uses.forEach(({ start, count }, at) => geometry.addGroup(start, count, at));
      const object = new OBJECTS[shape.kind](geometry, own.length > 1 ? own : own[0]);
      object.name = shape.name;
      group.add(object);
    }
    // Positions without elements are a point cloud.
    for (const { positions, colors } of meshes) {
      if (positions) group.add(cloud(positions, colors));
    }
    return group;
  }

  /** The material of a use: the one with its name in `setMaterials`, or a default material, shared by equal uses. */
  #material(made, { kind, hasColors }, name, smooth) {
    const given = this.materials?.create(name, hasColors);
    if (given) return fitting(given, kind);
    const key = JSON.stringify([kind, name, smooth, hasColors]);
    if (!made.has(key)) {
      const material = new PLAIN[kind]();
      if (kind === 'points') Object.assign(material, { size: 1, sizeAttenuation: false });
      made.set(key, Object.assign(material, { name, flatShading: !smooth, vertexColors: hasColors }));
    }
    return made.get(key);
  }
}

/**
 * Converts the result of `draw` to a group with materials.
 *
 * @param {(file: string) => string | undefined} [addressOf] returns the address of an image that a material names
 * @param {() => void} [onImage] called when an image has been loaded
 */
export function groupOf(answer, addressOf = () => undefined, onImage = () => {}) {
  const known = new Map(answer.materials.filter(({ missing }) => !missing).map((one) => [one.name, one]));
  const made = new Map();
  const create = (name, hasColors) => {
    const key = `${hasColors} ${name}`;
    if (known.has(name) && !made.has(key)) made.set(key, phong(known.get(name), hasColors, addressOf, onImage));
    return made.get(key);
  };
  return new OBJLoader().setMaterials({ create }).built(answer);
}

/** Converts an MTL material to a material of three.js. */
function phong({ name, diffuse, specular, emission, shininess, opacity = 1, maps }, vertexColors, addressOf, onImage) {
  const options = { name, opacity, transparent: opacity < 1, side: DoubleSide, vertexColors };
  const material = new MeshPhongMaterial(options);
  const colors = { color: diffuse, specular, emissive: emission };
  for (const [key, rgb] of Object.entries(colors)) if (rgb) material[key].setRGB(...rgb, SRGBColorSpace);
  if (shininess !== undefined) material.shininess = shininess;
  const address = addressOf(maps.find(({ kind }) => kind === 'Diffuse')?.file ?? '');
  if (address) {
    material.map = new TextureLoader().load(address, onImage);
    Object.assign(material.map, { colorSpace: SRGBColorSpace, wrapS: RepeatWrapping, wrapT: RepeatWrapping });
  }
  return material;
}

const OBJECTS = { mesh: Mesh, lines: LineSegments, points: Points };
const PLAIN = { mesh: MeshPhongMaterial, lines: LineBasicMaterial, points: PointsMaterial };

/** Converts the material of a mesh for lines or points, which need other materials in three.js. */
function fitting(material, kind) {
  if (kind === 'mesh' || material instanceof PLAIN[kind]) return material;
  const own = new PLAIN[kind]();
  Material.prototype.copy.call(own, material);
  own.color.copy(material.color);
  if (kind === 'points') Object.assign(own, { size: 10, sizeAttenuation: false, map: material.map });
  return own;
}

function cloud(positions, colors) {
  const geometry = geometryOf({ position: positions });
  const material = new PointsMaterial({ size: 1, sizeAttenuation: false });
  if (colors) {
    geometry.setAttribute('color', new BufferAttribute(lightOf(colors), 3));
    material.vertexColors = true;
  }
  return new Points(geometry, material);
}

function geometryOf(attributes) {
  const geometry = new BufferGeometry();
  for (const [name, array] of Object.entries(attributes)) {
    geometry.setAttribute(name, new BufferAttribute(array, name === 'uv' ? 2 : 3));
  }
  return geometry;
}

/** Converts an sRGB value to linear (IEC 61966-2-1). */
const light = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
/** Tables for colors that were bytes, as in nearly all files. */
const BYTES = Float32Array.from({ length: 256 }, (_, byte) => byte / 255);
const LIGHTS = Float32Array.from({ length: 256 }, (_, byte) => light(byte / 255));

/** Converts RGBA colors in sRGB to linear RGB. */
function lightOf(colors) {
  const lights = new Float32Array((colors.length / 4) * 3);
  for (let at = 0, from = 0; at < lights.length; from += 4) {
    for (let channel = 0; channel < 3; channel++) {
      const value = colors[from + channel];
      const byte = Math.round(255 * value);
      lights[at++] = BYTES[byte] === value ? LIGHTS[byte] : light(value);
    }
  }
  return lights;
}

/** Loads STL, as text or binary: a geometry with a position and a normal for each corner. */
export class STLLoader extends PolyhaulLoader {
  constructor(manager) {
    super(manager);
    this.format = 'stl';
  }

  built({ shapes, plainBytes }) {
    const geometry = geometryOf(joined(shapes));
    const [{ hasColors, alpha }] = shapes.length ? shapes : [{}];
    // Like three.js for colors in a binary file.
    if (hasColors) Object.assign(geometry, { hasColors, alpha });
    // A binary file consists of a header and 50 bytes per triangle; it has no solids, so the geometry has no groups.
    const triangles = shapes.reduce((sum, { corners }) => sum + corners / 3, 0);
    if (plainBytes === 84 + 50 * triangles) return geometry;
    let start = 0;
    shapes.forEach(({ corners }, at) => {
      geometry.addGroup(start, corners, at);
      start += corners;
    });
    geometry.userData.groupNames = shapes.map(({ name }) => name);
    return geometry;
  }
}

/** Concatenates the corners of all shapes. */
function joined(shapes) {
  if (shapes.length === 1) return shapes[0].attributes;
  const all = { position: [], normal: [] };
  for (const { attributes } of shapes) for (const name in all) all[name].push(attributes[name]);
  for (const [name, parts] of Object.entries(all)) {
    const whole = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
    all[name] = whole;
  }
  return all;
}

/** Loads PLY, as text or binary: a geometry with an index, and the attributes in the file. */
export class PLYLoader extends PolyhaulLoader {
  constructor(manager) {
    super(manager);
    this.format = 'ply';
  }

  get isDrawn() {
    return false;
  }

  built({ meshes: [mesh = { faces: {} }] }) {
    const attributes = { position: mesh.positions ?? new Float32Array(0) };
    const count = attributes.position.length / 3;
    if (mesh.normals?.length === 3 * count) attributes.normal = mesh.normals;
    if (mesh.uvs?.length === 2 * count) attributes.uv = mesh.uvs;
    if (mesh.colors) attributes.color = lightOf(mesh.colors);
    let geometry = geometryOf(attributes);
    if (mesh.faces.offsets) {
      const index = triangles(mesh.faces);
      geometry.setIndex(new BufferAttribute(count > 65535 ? index : new Uint16Array(index), 1));
    }
    if (mesh.uvDomain === 'corner' && mesh.uvs) {
      // Faces cannot share the UVs of corners.
      const corners = triangles({ ...mesh.faces, positions: mesh.faces.positions.map((_, corner) => corner) });
      geometry = geometry.toNonIndexed();
      const uv = Float32Array.from({ length: 2 * corners.length }, (_, at) => mesh.uvs[2 * corners[at >> 1] + (at & 1)]);
      geometry.setAttribute('uv', new BufferAttribute(uv, 2));
    }
    geometry.computeBoundingSphere();
    return geometry;
  }
}

/** Splits polygons into triangle fans; returns the corner indices. */
function triangles({ offsets, positions }) {
  const count = offsets.length - 1;
  if (positions.length === 3 * count) return positions;
  const index = new Uint32Array(3 * (positions.length - 2 * count));
  let at = 0;
  for (let face = 0; face < count; face++) {
    const first = offsets[face];
    for (let corner = first + 1; corner + 1 < offsets[face + 1]; corner++) {
      index[at++] = positions[first];
      index[at++] = positions[corner];
      index[at++] = positions[corner + 1];
    }
  }
  return index;
}
