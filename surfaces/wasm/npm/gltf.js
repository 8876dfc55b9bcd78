// glTF for three.js: the loader of three.js, which this engine would not speed up (docs/guide/browser.md has the
// figures), with the decoder for files of `polyhaul convert --meshopt`. Other formats are in three.js.
//
//     import { GLTFLoader } from 'polyhaul/gltf';

import { GLTFLoader as TheirGLTFLoader } from 'three/addons/loaders/GLTFLoader.js';

/** The decoder of three.js for `EXT_meshopt_compression`, loaded with the first file that needs it. */
const meshopt = {
  supported: true,
  async decodeGltfBufferAsync(...view) {
    const { MeshoptDecoder } = await import('three/addons/libs/meshopt_decoder.module.js');
    return MeshoptDecoder.decodeGltfBufferAsync(...view);
  },
};

/** Loads glTF 2.0, as .glb or .gltf: scenes, cameras, animations, and everything else that three.js reads. */
export class GLTFLoader extends TheirGLTFLoader {
  constructor(manager) {
    super(manager);
    this.setMeshoptDecoder(meshopt);
  }
}
