import type { Scene, Shape } from './polyhaul.js';
import type {
  BufferGeometry,
  Group,
  Loader,
  LoadingManager,
  Mapping,
  Material,
  MeshPhongMaterial,
  Side,
  Texture,
  Wrapping,
} from 'three';

/** Loads Wavefront OBJ as a group of meshes, lines and points. */
export class OBJLoader extends Loader<Group> {
  constructor(manager?: LoadingManager);
  setMaterials(materials: { create(name: string): Material | undefined }): this;
  parse(data: ArrayBuffer | string): Group;
}

export interface MaterialOptions {
  side?: Side;
  /** Wrapping of textures without `-clamp on`. Default: `RepeatWrapping`. */
  wrap?: Wrapping;
  /** Colors in the library range from 0 to 255. */
  normalizeRGB?: boolean;
  /** Ignore black colors, except emission. */
  ignoreZeroRGBs?: boolean;
  /** `Tr` is the opacity instead of the transparency. */
  invertTrProperty?: boolean;
}

/** Loads Wavefront MTL: materials for `OBJLoader.setMaterials`. */
export class MTLLoader extends Loader<MaterialCreator> {
  constructor(manager?: LoadingManager);
  materialOptions?: MaterialOptions;
  setMaterialOptions(options: MaterialOptions): this;
  /** @param path the folder of the textures, unless `setResourcePath` was called */
  parse(data: ArrayBuffer | string, path?: string): MaterialCreator;
}

/** The statements of a material by MTL keyword in lower case: colors as three numbers, all others as text. */
export type MaterialInfo = Record<string, string | number[]>;

/** Creates the materials of a library on request, each only once. */
export interface MaterialCreator {
  baseUrl: string;
  options: MaterialOptions;
  /** Invalid statements, which have no effect. */
  warnings: { line: number; code: string; text: string }[];
  materialsInfo: Record<string, MaterialInfo>;
  materials: Record<string, MeshPhongMaterial>;
  materialsArray: MeshPhongMaterial[];
  nameLookup: Record<string, number>;
  side: Side;
  wrap: Wrapping;
  crossOrigin: string;
  manager?: LoadingManager;
  setCrossOrigin(value: string): this;
  setManager(value: LoadingManager): void;
  setMaterials(infos: Record<string, MaterialInfo>): void;
  convert(infos: Record<string, MaterialInfo>): Record<string, MaterialInfo>;
  preload(): void;
  getIndex(name: string): number;
  getAsArray(): MeshPhongMaterial[];
  /** Returns the material with this name; a default material if the library does not contain it. */
  create(name: string): MeshPhongMaterial;
  loadTexture(
    url: string,
    mapping?: Mapping,
    onLoad?: (texture: Texture) => void,
    onProgress?: (event: ProgressEvent) => void,
    onError?: (error: unknown) => void,
  ): Texture;
}

/** Loads STL, as text or binary: a geometry with a position and a normal for each corner. */
export class STLLoader extends Loader<BufferGeometry> {
  constructor(manager?: LoadingManager);
  parse(data: ArrayBuffer | string): BufferGeometry;
}

/** Loads PLY, as text or binary: a geometry with an index, and the attributes in the file. */
export class PLYLoader extends Loader<BufferGeometry> {
  constructor(manager?: LoadingManager);
  parse(data: ArrayBuffer | string): BufferGeometry;
}

/** Converts the result of `draw` to a group with materials. */
export function groupOf(
  answer: Pick<Scene, 'meshes' | 'materials' | 'materialLibraries'> & { shapes: Shape[] },
  addressOf?: (file: string) => string | undefined,
  onImage?: () => void,
): Group;
