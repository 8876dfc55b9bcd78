import type { GLTFLoader as TheirGLTFLoader } from 'three/addons/loaders/GLTFLoader.js';

/** The glTF loader of three.js, which reads `EXT_meshopt_compression` without a call of `setMeshoptDecoder`. */
export class GLTFLoader extends TheirGLTFLoader {}
