export { PLYLoader } from './three.js';
