/** Where a file is, or its bytes. In Node, also a path, or a URL of a file on disk. */
export type Source = Blob | ArrayBuffer | ArrayBufferView | string | URL;

export interface ReadOptions {
  /** The name of the file, which tells its format. By default that of the `File`, or the last part of the URL. */
  name?: string;
  /** The format, if neither the name nor the content tells. */
  format?: 'obj' | 'ply' | 'stl' | 'off' | 'table';
  /** Use a smaller module, which reads this format alone. */
  module?: 'obj' | 'ply' | 'stl';
  /** Leave out what breaks the format's rules, with warnings, instead of failing. Default: false. */
  skip?: boolean;
  /** The precision of positions: `auto` adds `exactPositions` if 32-bit floats lose something that matters. Default: auto. */
  precision?: 'auto' | 'single' | 'double';
  /** Files that this one may refer to, such as material libraries, by the names it has for them. */
  others?: Record<string, Blob | ArrayBuffer>;
  /** Move an `ArrayBuffer` to the worker instead of copying it: it is empty afterwards. Default: false. */
  transfer?: boolean;
  /**
   * Files behind URLs that are at least four times as large are loaded in ranges of this size, if the server has them
   * (`Accept-Ranges: bytes`), does not compress the file on the way, and the browser has JavaScript Promise Integration; 0
   * for none. Default: 16 MiB.
   */
  rangeBytes?: number;
  signal?: AbortSignal;
  /** Called with the bytes read so far, every few megabytes. */
  onProgress?: (bytes: number, total: number) => void;
}

/** Positions in a mesh's streams: positions, uvs, normals, faces, lines, points, curves. */
export type Counts = [number, number, number, number, number, number, number];

/** Polygons or polylines: element `i` has the corners `offsets[i]` to `offsets[i + 1]`. An empty array is left out. */
export interface Elements {
  offsets?: Uint32Array;
  /** Per corner: the index of its position. */
  positions?: Uint32Array;
  /** Per corner: the index of its uv, 4294967295 for none. */
  uvs?: Uint32Array;
  /** Per corner: the index of its normal, 4294967295 for none. */
  normals?: Uint32Array;
}

/** A value that applies from `at` on; -1 for none. */
export interface Run {
  at: Counts;
  value: number;
}

export type Numbers =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/** Numbers, one per row, or lists of them: row `i` of lists has the values `offsets[i]` to `offsets[i + 1]`. */
export interface Column {
  name: string;
  values?: Numbers;
  offsets?: Uint32Array;
}

export type Domain = 'indexed' | 'corner' | 'vertex' | 'face';

/** A mesh. Arrays that the file does not have are left out. */
export interface Mesh {
  /** x, y, z for each. */
  positions?: Float32Array;
  /** The same in double precision, if 32-bit floats lose something that matters. */
  exactPositions?: Float64Array;
  positionWeights?: Float32Array;
  /** Red, green, blue, alpha for each position, as the file has them. */
  colors?: Float32Array;
  uvs?: Float32Array;
  uvDepths?: Float32Array;
  normals?: Float32Array;
  /** How a corner finds its uv: by the indices of its element, or by its own number, its position's or its face's. */
  uvDomain: Domain;
  normalDomain: Domain;
  faces: Elements;
  lines: Elements;
  points?: Uint32Array;
  faceMaterials?: Int32Array;
  /** Materials of elements: indices into the scene's. */
  materialRuns: Run[];
  /** Groups of elements: indices into `groups`. */
  groupRuns: Run[];
  smoothingRuns: Run[];
  groups: string[];
  vertexColumns: Column[];
  faceColumns: Column[];
}

/** A named section of a mesh. */
export interface SceneObject {
  name: string;
  mesh: number;
  start: Counts;
  end: Counts;
  /** Row by row, to be multiplied by column vectors from the right. */
  transform?: number[];
}

export interface TextureMap {
  kind: string;
  file: string;
  offset?: number[];
  scale?: number[];
}

export interface Material {
  name: string;
  /** Used, but in no library. */
  missing: boolean;
  ambient?: number[];
  diffuse?: number[];
  specular?: number[];
  emission?: number[];
  transmission?: number[];
  shininess?: number;
  refractionIndex?: number;
  opacity?: number;
  roughness?: number;
  metallic?: number;
  sheen?: number;
  clearcoat?: number;
  clearcoatRoughness?: number;
  maps: TextureMap[];
}

export interface Table {
  name: string;
  rows: number;
  columns: Column[];
}

/** Where something is in a file: lines and columns (in bytes) count from 1, offsets from 0. */
export interface Place {
  file?: string;
  line?: number;
  column?: number;
  offset?: number;
  expected?: string;
  hint?: string;
  /** The name that the message is about. */
  subject?: string;
  /** The names of what was lost: the first few. */
  names?: string[];
  /** The line, and the part of it that is meant. */
  excerpt?: string;
  marked?: [number, number];
}

export interface Warning extends Place {
  /** The kind of warning, a stable name. */
  code: string;
  /** How bad it is: dropped as everybody expects, lost although there is a slot for it, or a fault of the file. */
  severity: 'note' | 'loss' | 'fault';
  count: number;
  text: string;
}

export interface Scene {
  /** Bytes that were read. */
  bytes: number;
  /** The same, decompressed. */
  plainBytes: number;
  meshes: Mesh[];
  objects: SceneObject[];
  materials: Material[];
  materialLibraries: string[];
  tables: Table[];
  comments: string[];
  counts: Record<'positions' | 'uvs' | 'normals' | 'faces' | 'lines' | 'points' | 'curves', number>;
  /** How many warnings there were; the first ones of each kind are in `warnings`. */
  warningCount: number;
  warnings: Warning[];
}

export type Tables = Pick<Scene, 'bytes' | 'plainBytes' | 'tables' | 'comments' | 'warningCount' | 'warnings'>;

export interface PolyhaulError extends Place {}

/** What is wrong with a file, and where. */
export class PolyhaulError extends Error {
  kind: 'malformed' | 'limit' | 'unsupported' | 'io' | 'usage' | 'host' | 'memory' | 'cancelled' | 'internal';
}

/** Reads a scene or a mesh in a worker. */
export function read(source: Source, options?: ReadOptions): Promise<Scene>;

/** Reads the tables of a file, or the elements of a PLY file as tables: columns of numbers. */
export function readTables(source: Source, options?: ReadOptions): Promise<Tables>;

/** Reads a file and writes it in another format, which the name of the file to be made tells: `'scene.ply'`. */
export function convert(
  source: Source,
  to: string,
  options?: ReadOptions,
): Promise<Pick<Scene, 'bytes' | 'warningCount' | 'warnings'> & { blob: Blob }>;

type Floats = Float32Array | ArrayLike<number>;
type Indices = Uint32Array | ArrayLike<number>;

/** A mesh to be written: polygons, polylines, points, or positions alone. */
export interface MeshToWrite {
  name?: string;
  /** x, y, z for each; a `Float64Array` is written in double precision. */
  positions: Floats | Float64Array;
  /** Written in place of `positions`. */
  exactPositions?: Float64Array;
  /** Triangles: three indices of positions for each. */
  indices?: Indices | null;
  /** Polygons, instead of `indices`; with indices of uvs and normals, if these are not one for each position. */
  faces?: { offsets?: Indices; positions?: Indices; uvs?: Indices; normals?: Indices };
  lines?: { offsets?: Indices; positions?: Indices };
  points?: Indices;
  /** One for each position, unless `faces` has indices of them or the domain is `'corner'`. */
  uvs?: Floats;
  normals?: Floats;
  uvDomain?: Domain;
  normalDomain?: Domain;
  /** Three or four numbers for each position, as sRGB: from 0 to 1, or bytes. */
  colors?: Floats | Uint8Array | Uint8ClampedArray;
  /** The name of the material (OBJ). */
  material?: string;
  /** Or names from faces on. */
  materials?: { face: number; name: string }[];
}

/** A table to be written; columns of plain numbers become doubles. Without rows, `values` may be left out. */
export interface TableToWrite {
  name?: string;
  columns: { name?: string; values?: Numbers | number[]; offsets?: Indices }[] | Record<string, Numbers | number[]>;
}

export interface WriteOptions {
  /** Numbers as text in PLY and STL, or the highest byte first in PLY. Default: binary, the lowest byte first. */
  encoding?: 'ascii' | 'big';
  /** Colors in PLY as floats, rather than bytes. Default: false. */
  floatColors?: boolean;
  /** Move the arrays to the worker instead of copying them: they are empty afterwards. Default: false. */
  transfer?: boolean;
  signal?: AbortSignal;
}

/** Writes meshes or tables as a file, in a worker. The name tells the format: `'scene.obj'`, `'table.npy'`. */
export function write(
  source: MeshToWrite | MeshToWrite[] | TableToWrite | TableToWrite[],
  to: string,
  options?: WriteOptions,
): Promise<Pick<Scene, 'bytes' | 'warningCount' | 'warnings'> & { blob: Blob }>;

/** Loads the module and starts a worker, so that both are ready when the first file comes. */
export function prepare(kind?: 'reading' | 'obj' | 'ply' | 'stl'): Promise<WebAssembly.Module>;

/** The same with the larger module that `convert` and `write` need. */
export function prepareToWrite(): Promise<WebAssembly.Module>;

/** Ends the workers that are kept for other files, and frees their memory. The next file starts a new one. */
export function dispose(): void;

export interface DrawOptions extends ReadOptions {
  /** How many workers may share a large OBJ file: by default, one less than there are cores, up to 4. */
  workers?: number;
}

/** Corners of a mesh, of lines or of points, and its materials: indices into those of the scene, or -1. */
export interface Shape {
  name: string;
  kind: 'mesh' | 'lines' | 'points';
  corners: number;
  attributes: { position: Float32Array; normal?: Float32Array; color?: Float32Array; uv?: Float32Array };
  uses: { material: number; smooth: boolean; start: number; count: number }[];
}

/** Reads the shapes of a file as a renderer draws them: corners without indices. */
export function draw(source: Source, options?: DrawOptions): Promise<Omit<Scene, 'objects'> & { shapes: Shape[] }>;
