// The PLY loader for three.js, with a smaller module that reads nothing else.
//
//     import { PLYLoader } from 'polyhaul/ply';

import { PLYLoader as Shared } from './loaders.js';
import { prepare } from './polyhaul.js';

// `parse` cannot wait, so the module is ready before this file is.
await prepare('ply');

export class PLYLoader extends Shared {
  module = 'ply';
}
