// glTF for three.js: its own loader, which our engine would not make faster (docs/guide/browser.md has the figures),
// with the decoder that files of `polyhaul convert --meshopt` need. Other formats are in three.js.
//
//     import { GLTFLoader } from 'polyhaul/gltf';

import { GLTFLoader as TheirGLTFLoader } from 'three/addons/loaders/GLTFLoader.js';

/** three.js' decoder of `EXT_meshopt_compression`, which is loaded with the first file that needs it. */
const meshopt = {
  supported: true,
  async decodeGltfBufferAsync(...view) {
    const { MeshoptDecoder } = await import('three/addons/libs/meshopt_decoder.module.js');
    return MeshoptDecoder.decodeGltfBufferAsync(...view);
  },
};

/** glTF 2.0, as .glb or .gltf: scenes, cameras, animations, and all else that three.js reads of it. */
export class GLTFLoader extends TheirGLTFLoader {
  constructor(manager) {
    super(manager);
    this.setMeshoptDecoder(meshopt);
  }
}
