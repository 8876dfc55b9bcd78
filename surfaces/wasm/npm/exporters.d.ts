import type { Object3D } from 'three';

/** Exports Wavefront OBJ, without a material library. */
export class OBJExporter {
  parse(object: Object3D): string;
  /** Like `parse`, in a worker. */
  parseAsync(object: Object3D): Promise<string>;
}

export interface STLExporterOptions {
  /** Default: false. */
  binary?: boolean;
}

/** Exports STL, with all meshes as one solid. */
export class STLExporter {
  parse(object: Object3D, options: STLExporterOptions & { binary: true }): DataView;
  parse(object: Object3D, options?: STLExporterOptions): string | DataView;
  /** Like `parse`, in a worker. */
  parseAsync(object: Object3D, options?: STLExporterOptions): Promise<string | DataView>;
}

export interface PLYExporterOptions {
  /** Default: false. */
  binary?: boolean;
  /** Little-endian instead of big-endian binary data. Default: false. */
  littleEndian?: boolean;
  /** Attributes to omit: `'color'`, `'normal'`, `'uv'`, `'index'`. */
  excludeAttributes?: string[];
}

/** Exports PLY, with all meshes and points as one mesh. */
export class PLYExporter {
  parse(
    object: Object3D,
    onDone?: ((file: string | ArrayBuffer | null) => void) | null,
    options?: PLYExporterOptions,
  ): string | ArrayBuffer | null;
  /** Like `parse`, in a worker. */
  parseAsync(object: Object3D, options?: PLYExporterOptions): Promise<string | ArrayBuffer | null>;
}
