// Converts meshes and tables to the form that the engine expects: arrays, and lines that describe them
// (surfaces/wasm/src/given.rs). Invalid meshes and tables are errors here, before they reach a worker.

/** The fields of meshes. */
const ELEMENTS = ['indices', 'faces', 'lines', 'points'];
const ATTRIBUTES = ['positions', 'exactPositions', 'uvs', 'uvDomain', 'normals', 'normalDomain', 'colors'];
const MESH = new Set(['name', 'material', 'materials', ...ELEMENTS, ...ATTRIBUTES]);
/** The types of columns. */
const NUMBERS = /^(Int8|Uint8|Int16|Uint16|Int32|Uint32|BigInt64|BigUint64|Float32|Float64)Array$/;

/**
 * Returns the arrays and lines for meshes or tables.
 *
 * @param {object | object[]} source meshes, which have `positions`, or tables, which have `columns`
 */
export function described(source) {
  const all = Array.isArray(source) ? source : [source];
  const description = { lines: [], arrays: [] };
  const isTable = all.length > 0 && all.every((one) => one?.columns);
  if (!isTable && !(all.length > 0 && all.every((one) => one?.positions))) {
    throw new TypeError('polyhaul: expected meshes with `positions`, or tables with `columns`');
  }
  for (const one of all) (isTable ? describeTable : describeMesh)(description, one);
  return description;
}

function describeTable({ lines, arrays }, { name = '', columns }) {
  const given = Array.isArray(columns) ? columns : Object.entries(columns).map(([name, values]) => ({ name, values }));
  const list = given.map(({ name = '', values, offsets }) => ({ name, values: numbersOf(name, values), offsets }));
  const [first] = list;
  const rows = !first ? 0 : first.offsets ? first.offsets.length - 1 : first.values.length;
  lines.push(`table ${rows} ${oneLine(name)}`);
  for (const { name, values, offsets } of list) {
    const lists = offsets ? put(arrays, Uint32Array, offsets, 1) : '-';
    lines.push(`column ${push(arrays, values, 1)} ${lists} ${oneLine(name)}`);
  }
}

/** The values of a column, empty if they are omitted; numbers that are not in a typed array become doubles. */
function numbersOf(name, values = []) {
  if (NUMBERS.test(values?.[Symbol.toStringTag])) return values;
  const isNumber = (value) => typeof value === 'number';
  if (!isNumber(values?.length) || !Array.from(values).every(isNumber)) {
    throw new TypeError(`polyhaul: the values of the column \`${name}\` are not numbers`);
  }
  return Float64Array.from(values);
}

function describeMesh({ lines, arrays }, mesh) {
  refuseOthers(mesh);
  const { positions, colors, points, material } = mesh;
  const count = positions.length / 3;
  const faces = elementsOf(mesh, 'faces') ?? (mesh.indices ? triangles(mesh.indices) : undefined);
  const polylines = elementsOf(mesh, 'lines');
  const exact = mesh.exactPositions ?? (positions instanceof Float64Array ? positions : undefined);
  const placed = exact ? put(arrays, Float64Array, exact, 3) : put(arrays, Float32Array, positions, 3);
  lines.push(`mesh ${oneLine(mesh.name ?? '')}`, `positions ${placed}`);
  if (colors?.length) lines.push(`colors ${push(arrays, quads(colors, count), 4)}`);
  const place = faces && put(arrays, Uint32Array, faces.positions, 1);
  const indices = {};
  for (const [kind, width] of [['uvs', 2], ['normals', 3]]) {
    if (!mesh[kind]) continue;
    const domain = mesh[`${kind.slice(0, -1)}Domain`];
    const values = put(arrays, Float32Array, mesh[kind], width);
    indices[kind] = indicesOf(arrays, faces, kind, domain, mesh[kind].length / width, count, place);
    lines.push(`${kind} ${values} ${indices[kind] === undefined ? 'vertex' : 'indexed'}`);
  }
  if (faces) {
    const offsets = put(arrays, Uint32Array, faces.offsets, 1);
    lines.push(`faces ${offsets} ${place} ${indices.uvs ?? '-'} ${indices.normals ?? '-'}`);
  }
  if (polylines) {
    const [offsets, positions] = ['offsets', 'positions'].map((key) => put(arrays, Uint32Array, polylines[key], 1));
    lines.push(`lines ${offsets} ${positions} - -`);
  }
  if (points) lines.push(`points ${put(arrays, Uint32Array, points, 1)}`);
  const materials = mesh.materials ?? (material ? [{ face: 0, name: material }] : []);
  for (const { face, name } of materials) lines.push(`material ${face} ${oneLine(name)}`);
}

/** The polygons or polylines of a mesh, if it has any: `read` omits the arrays if there are none. */
function elementsOf(mesh, kind) {
  const { offsets, positions = [] } = mesh[kind] ?? {};
  if (offsets) return { ...mesh[kind], positions };
  if (positions.length) throw new TypeError(`polyhaul: \`${kind}\` of a mesh has \`positions\` but no \`offsets\``);
  return undefined;
}

/** The indices of UVs or normals: given ones, the position indices, or sequential ones. None if there are no faces. */
function indicesOf(arrays, faces, kind, domain, values, vertices, place) {
  if (faces?.[kind]) return put(arrays, Uint32Array, faces[kind], 1);
  if (faces && domain === 'corner' && values === faces.positions.length) {
    return push(arrays, Uint32Array.from(faces.positions, (_, corner) => corner), 1);
  }
  if (values !== vertices || domain === 'corner' || domain === 'face') {
    throw new TypeError(`polyhaul: expected ${kind} for ${vertices} positions, or with indices in \`faces.${kind}\``);
  }
  return faces && place;
}

function refuseOthers(mesh) {
  for (const [key, value] of Object.entries(mesh)) {
    const isEmpty = value == null || value.length === 0;
    if (!MESH.has(key) && !isEmpty) throw new TypeError(`polyhaul: \`${key}\` of a mesh cannot be written`);
  }
}

function triangles(indices) {
  if (indices.length % 3 !== 0) throw new TypeError(`polyhaul: expected 3 indices per triangle, found ${indices.length}`);
  return { offsets: Uint32Array.from({ length: indices.length / 3 + 1 }, (_, face) => 3 * face), positions: indices };
}

/** Converts colors of three or four numbers per position to four floats. */
function quads(colors, count) {
  const width = colors.length / count;
  if (width !== 3 && width !== 4) throw new TypeError('polyhaul: expected colors of 3 or 4 numbers for each position');
  const most = colors instanceof Uint8Array || colors instanceof Uint8ClampedArray ? 255 : 1;
  const four = new Float32Array(4 * count).fill(1);
  for (let at = 0; at < count; at++) {
    for (let channel = 0; channel < width; channel++) four[4 * at + channel] = colors[width * at + channel] / most;
  }
  return four;
}

/** Adds values as an array of the type; returns the number of the array. */
function put(arrays, Type, values, width) {
  const length = values?.length;
  if (typeof length !== 'number') throw new TypeError(`polyhaul: expected an array of numbers, found \`${values}\``);
  if (length % width !== 0) throw new TypeError(`polyhaul: expected a multiple of ${width} numbers, found ${length}`);
  if (values instanceof Type) return push(arrays, values, width);
  const converted = Type.from(values);
  if (Type === Uint32Array) requireSame(converted, values);
  return push(arrays, converted, width);
}

/** Fails if an index changed when it was converted to 32 bits, except -1, which stands for none. */
function requireSame(indices, values) {
  const at = indices.findIndex((index, at) => index !== values[at] && values[at] !== -1);
  if (at >= 0) throw new TypeError(`polyhaul: expected indices from 0 to 4294967295, found \`${values[at]}\``);
}

function push(arrays, array, width) {
  return arrays.push({ array, width }) - 1;
}

/** Replaces line breaks, which would start another line of the request. */
function oneLine(name) {
  return String(name).replace(/[\r\n]/g, ' ');
}
