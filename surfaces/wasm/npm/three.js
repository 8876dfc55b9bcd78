// Loaders for three.js: change the import, and nothing else. One module reads all of their formats; `polyhaul/obj`,
// `polyhaul/ply` and `polyhaul/stl` have smaller ones.
//
//     import { OBJLoader } from 'polyhaul/three';

import { prepare } from './polyhaul.js';

// `parse` cannot wait, so the module is ready before this file is.
await prepare();

export { OBJLoader, PLYLoader, STLLoader, groupOf } from './loaders.js';
export { MTLLoader } from './materials.js';
