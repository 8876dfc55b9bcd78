import type { GLTFLoader as TheirGLTFLoader } from 'three/addons/loaders/GLTFLoader.js';

/** three.js' own loader of glTF, which reads `EXT_meshopt_compression` without `setMeshoptDecoder`. */
export class GLTFLoader extends TheirGLTFLoader {}
