// The modules for one format, which are smaller than the one that reads everything.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read } from 'polyhaul';

test('a module for one format reads it, and tells of others that it does not', async () => {
  const { meshes } = await read(new TextEncoder().encode('v 1 2 3\nf 1 1 1\n'), { name: 'a.obj', module: 'obj' });
  assert.deepEqual([...meshes[0].positions], [1, 2, 3]);
  const ply = new TextEncoder().encode('ply\nformat ascii 1.0\nend_header\n');
  await assert.rejects(read(ply, { name: 'a.ply', module: 'obj' }), { name: 'PolyhaulError', kind: 'unsupported' });
});
