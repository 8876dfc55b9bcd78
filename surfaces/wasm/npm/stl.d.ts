export { STLLoader } from './three.js';
