/** A file: its bytes, or its URL. In Node, also a path, or the URL of a file on disk. */
export type Source = Blob | ArrayBuffer | ArrayBufferView | string | URL;

export interface ReadOptions {
  /** The file name; its extension selects the format. Default: the name of the `File`, or the last part of the URL. */
  name?: string;
  /** The format. By default, it is inferred from the name or, failing that, from the content. */
  format?: 'obj' | 'ply' | 'stl' | 'off' | 'table';
  /** Use a smaller module, which reads only this format. */
  module?: 'obj' | 'ply' | 'stl';
  /** Skip invalid statements with a warning instead of failing. Default: false. */
  skip?: boolean;
  /** The precision of positions: `auto` adds `exactPositions` if 32-bit floats would lose digits. Default: auto. */
  precision?: 'auto' | 'single' | 'double';
  /** Files that the file may refer to, such as material libraries, by the names in the file. */
  others?: Record<string, Blob | ArrayBuffer>;
  /** Transfer an `ArrayBuffer` to the worker instead of copying it; it is empty afterwards. Default: false. */
  transfer?: boolean;
  /**
   * Files at URLs that are at least four times as large are loaded in ranges of this size, if the server supports
   * ranges (`Accept-Ranges: bytes`) and does not compress the response, and the browser supports JavaScript Promise
   * Integration; 0 disables ranges. Default: 16 MiB.
   */
  rangeBytes?: number;
  signal?: AbortSignal;
  /** Called every few megabytes with the number of bytes read so far. */
  onProgress?: (bytes: number, total: number) => void;
}

/** An index into each array of a mesh: positions, UVs, normals, faces, lines, points, curves. */
export type Counts = [number, number, number, number, number, number, number];

/** Polygons or polylines: element `i` has the corners `offsets[i]` to `offsets[i + 1]`. Empty arrays are omitted. */
export interface Elements {
  offsets?: Uint32Array;
  /** The position index of each corner. */
  positions?: Uint32Array;
  /** The UV index of each corner, 4294967295 for none. */
  uvs?: Uint32Array;
  /** The normal index of each corner, 4294967295 for none. */
  normals?: Uint32Array;
}

/** A value for the elements from `at` up to the next run; -1 for none. */
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

/** A column of numbers, or with `offsets`, of lists: row `i` has the values `offsets[i]` to `offsets[i + 1]`. */
export interface Column {
  name: string;
  values?: Numbers;
  offsets?: Uint32Array;
}

export type Domain = 'indexed' | 'corner' | 'vertex' | 'face';

/** A mesh. Arrays that the file does not contain are omitted. */
export interface Mesh {
  /** x, y, z of each position. */
  positions?: Float32Array;
  /** x, y, z of each position in double precision, if 32-bit floats would lose digits. */
  exactPositions?: Float64Array;
  positionWeights?: Float32Array;
  /** Red, green, blue, alpha of each position, as in the file. */
  colors?: Float32Array;
  uvs?: Float32Array;
  uvDepths?: Float32Array;
  normals?: Float32Array;
  /** How UVs are assigned: by index (`faces.uvs`), or one per corner, position (`vertex`) or face. */
  uvDomain: Domain;
  normalDomain: Domain;
  faces: Elements;
  lines: Elements;
  points?: Uint32Array;
  faceMaterials?: Int32Array;
  /** Materials of elements: indices into the materials of the scene. */
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
  /** Row-major object-to-world matrix for column vectors. */
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
  /** Whether the material is used, but not defined in any library. */
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

/** A location in a file: lines and columns (in bytes) start at 1, offsets at 0. */
export interface Place {
  file?: string;
  line?: number;
  column?: number;
  offset?: number;
  expected?: string;
  hint?: string;
  /** The name of the material, group or other item that the message is about. */
  subject?: string;
  /** The first few names of lost items. */
  names?: string[];
  /** An excerpt of the line; `marked` is the range of the fault in it. */
  excerpt?: string;
  marked?: [number, number];
}

export interface Warning extends Place {
  /** The kind of warning: a short name that never changes. */
  code: string;
  /**
   * `note` for data that users do not expect the format to store, `loss` if data that the format can store was changed
   * or dropped, `fault` if the file violates its format.
   */
  severity: 'note' | 'loss' | 'fault';
  count: number;
  text: string;
}

export interface Scene {
  /** The number of bytes read. */
  bytes: number;
  /** The number of bytes after decompression. */
  plainBytes: number;
  meshes: Mesh[];
  objects: SceneObject[];
  materials: Material[];
  materialLibraries: string[];
  tables: Table[];
  comments: string[];
  counts: Record<'positions' | 'uvs' | 'normals' | 'faces' | 'lines' | 'points' | 'curves', number>;
  /** The number of warnings; the first ones of each kind are in `warnings`. */
  warningCount: number;
  warnings: Warning[];
}

export type Tables = Pick<Scene, 'bytes' | 'plainBytes' | 'tables' | 'comments' | 'warningCount' | 'warnings'>;

export interface PolyhaulError extends Place {}

/** A failure, with its location in the file if it has one. */
export class PolyhaulError extends Error {
  kind: 'malformed' | 'limit' | 'unsupported' | 'io' | 'usage' | 'host' | 'memory' | 'cancelled' | 'internal';
}

/** Reads a scene or a mesh in a worker. */
export function read(source: Source, options?: ReadOptions): Promise<Scene>;

/** Reads the tables of a file, or the elements of a PLY file as tables: columns of numbers. */
export function readTables(source: Source, options?: ReadOptions): Promise<Tables>;

/** Converts a file to the format that the extension of the output name `to` selects, such as `'scene.ply'`. */
export function convert(
  source: Source,
  to: string,
  options?: ReadOptions,
): Promise<Pick<Scene, 'bytes' | 'warningCount' | 'warnings'> & { blob: Blob }>;

type Floats = Float32Array | ArrayLike<number>;
type Indices = Uint32Array | ArrayLike<number>;

/** A mesh to write: polygons, polylines, points, or only positions. */
export interface MeshToWrite {
  name?: string;
  /** x, y, z of each position; a `Float64Array` is written in double precision. */
  positions: Floats | Float64Array;
  /** Written instead of `positions`. */
  exactPositions?: Float64Array;
  /** Triangles: three position indices each. */
  indices?: Indices | null;
  /** Polygons, instead of `indices`; with UV and normal indices unless there is one UV and normal per position. */
  faces?: { offsets?: Indices; positions?: Indices; uvs?: Indices; normals?: Indices };
  lines?: { offsets?: Indices; positions?: Indices };
  points?: Indices;
  /** One UV per position, unless `faces` has UV indices or `uvDomain` is `'corner'`. */
  uvs?: Floats;
  normals?: Floats;
  uvDomain?: Domain;
  normalDomain?: Domain;
  /** Three or four sRGB values for each position: numbers from 0 to 1, or bytes. */
  colors?: Floats | Uint8Array | Uint8ClampedArray;
  /** The name of the material (OBJ). */
  material?: string;
  /** Or several materials, each with the first face that it applies to. */
  materials?: { face: number; name: string }[];
}

/** A table to write; arrays of numbers become doubles. `values` may be omitted if there are no rows. */
export interface TableToWrite {
  name?: string;
  columns: { name?: string; values?: Numbers | number[]; offsets?: Indices }[] | Record<string, Numbers | number[]>;
}

export interface WriteOptions {
  /** Write numbers as text (PLY, STL), or big-endian (PLY). Default: binary, little-endian. */
  encoding?: 'ascii' | 'big';
  /** Write colors in PLY as floats instead of bytes. Default: false. */
  floatColors?: boolean;
  /** Transfer the arrays to the worker instead of copying them; they are empty afterwards. Default: false. */
  transfer?: boolean;
  signal?: AbortSignal;
}

/** Writes meshes or tables in a worker. The extension of `to` selects the format: `'scene.obj'`, `'table.npy'`. */
export function write(
  source: MeshToWrite | MeshToWrite[] | TableToWrite | TableToWrite[],
  to: string,
  options?: WriteOptions,
): Promise<Pick<Scene, 'bytes' | 'warningCount' | 'warnings'> & { blob: Blob }>;

/** Loads the module and starts a worker, so that both are ready for the first file. */
export function prepare(kind?: 'reading' | 'obj' | 'ply' | 'stl'): Promise<WebAssembly.Module>;

/** Like `prepare`, for the larger module that `convert` and `write` need. */
export function prepareToWrite(): Promise<WebAssembly.Module>;

/** Stops the idle workers and frees their memory. The next file starts a new worker. */
export function dispose(): void;

export interface DrawOptions extends ReadOptions {
  /** Maximum number of workers for a large OBJ file. Default: the number of cores minus one, at most 4. */
  workers?: number;
}

/** The corners of a mesh, of lines or of points, and the materials: indices into the materials of the scene, or -1. */
export interface Shape {
  name: string;
  kind: 'mesh' | 'lines' | 'points';
  corners: number;
  attributes: { position: Float32Array; normal?: Float32Array; color?: Float32Array; uv?: Float32Array };
  uses: { material: number; smooth: boolean; start: number; count: number }[];
}

/** Reads a file into unindexed vertex buffers, ready to render. */
export function draw(source: Source, options?: DrawOptions): Promise<Omit<Scene, 'objects'> & { shapes: Shape[] }>;
