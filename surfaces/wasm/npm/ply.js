// The PLY loader for three.js, with a smaller module that reads only PLY.
//
//     import { PLYLoader } from 'polyhaul/ply';

import { PLYLoader as Shared } from './loaders.js';

export class PLYLoader extends Shared {
  get module() {
    return new URL('./polyhaul-ply.wasm', import.meta.url);
  }
}
