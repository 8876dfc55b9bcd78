import type { Object3D } from 'three';

/** Wavefront OBJ, without a library of materials. */
export class OBJExporter {
  parse(object: Object3D): string;
  /** The same, in a worker. */
  parseAsync(object: Object3D): Promise<string>;
}

export interface STLExporterOptions {
  /** Default: false. */
  binary?: boolean;
}

/** STL: all meshes as one solid. */
export class STLExporter {
  parse(object: Object3D, options: STLExporterOptions & { binary: true }): DataView;
  parse(object: Object3D, options?: STLExporterOptions): string | DataView;
  /** The same, in a worker. */
  parseAsync(object: Object3D, options?: STLExporterOptions): Promise<string | DataView>;
}

export interface PLYExporterOptions {
  /** Default: false. */
  binary?: boolean;
  /** The order of bytes. Default: false. */
  littleEndian?: boolean;
  /** Parts to leave out: `'color'`, `'normal'`, `'uv'`, `'index'`. */
  excludeAttributes?: string[];
}

/** PLY: all meshes and points as one. */
export class PLYExporter {
  parse(
    object: Object3D,
    onDone?: ((file: string | ArrayBuffer | null) => void) | null,
    options?: PLYExporterOptions,
  ): string | ArrayBuffer | null;
  /** The same, in a worker. */
  parseAsync(object: Object3D, options?: PLYExporterOptions): Promise<string | ArrayBuffer | null>;
}
