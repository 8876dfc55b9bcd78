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

/** Wavefront OBJ as a group of meshes, lines and points. */
export class OBJLoader extends Loader<Group> {
  constructor(manager?: LoadingManager);
  setMaterials(materials: { create(name: string): Material | undefined }): this;
  parse(data: ArrayBuffer | string): Group;
}

export interface MaterialOptions {
  side?: Side;
  /** For textures without `-clamp on`. Default: `RepeatWrapping`. */
  wrap?: Wrapping;
  /** Colors are from 0 to 255. */
  normalizeRGB?: boolean;
  /** Leave black colors out, except emission. */
  ignoreZeroRGBs?: boolean;
  /** `Tr` is the opacity rather than the transparency. */
  invertTrProperty?: boolean;
}

/** Wavefront MTL: materials for `OBJLoader.setMaterials`. */
export class MTLLoader extends Loader<MaterialCreator> {
  constructor(manager?: LoadingManager);
  materialOptions?: MaterialOptions;
  setMaterialOptions(options: MaterialOptions): this;
  /** @param path where the textures are, unless `setResourcePath` says */
  parse(data: ArrayBuffer | string, path?: string): MaterialCreator;
}

/** Colors as three numbers and the rest as text, by the keywords of MTL in lower case. */
export type MaterialInfo = Record<string, string | number[]>;

/** Makes the materials of a library as they are asked for, each once. */
export interface MaterialCreator {
  baseUrl: string;
  options: MaterialOptions;
  /** Statements that break the rules, which have no effect. */
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
  /** The material of a name; a plain one if the library does not have it. */
  create(name: string): MeshPhongMaterial;
  loadTexture(
    url: string,
    mapping?: Mapping,
    onLoad?: (texture: Texture) => void,
    onProgress?: (event: ProgressEvent) => void,
    onError?: (error: unknown) => void,
  ): Texture;
}

/** STL, as text or binary: a geometry with a position and a normal for each corner. */
export class STLLoader extends Loader<BufferGeometry> {
  constructor(manager?: LoadingManager);
  parse(data: ArrayBuffer | string): BufferGeometry;
}

/** PLY, as text or binary: a geometry with an index, and the attributes that the file has. */
export class PLYLoader extends Loader<BufferGeometry> {
  constructor(manager?: LoadingManager);
  parse(data: ArrayBuffer | string): BufferGeometry;
}

/** What `draw` read of any file, as a group with its own materials. */
export function groupOf(
  answer: Pick<Scene, 'meshes' | 'materials' | 'materialLibraries'> & { shapes: Shape[] },
  addressOf?: (file: string) => string | undefined,
  onImage?: () => void,
): Group;
