import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { HostFiles } from '../facts/host-files.js';
import { BundleCache } from './bundle-cache.js';

let root: string;
let files: HostFiles;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-bundles-'));
  files = new HostFiles({ root, clock: new SystemClock(), signal: new AbortController().signal });
});

afterEach(async () => rm(root, { recursive: true, force: true }));

async function write(id: string, text: string): Promise<void> {
  await mkdir(join(root, 'tasks', id), { recursive: true });
  await writeFile(join(root, 'tasks', id, 'config.json'), text);
}

function configOf(sandboxId: string, name: string): string {
  const annotations = {
    'io.kubernetes.cri.sandbox-id': sandboxId,
    'io.kubernetes.cri.sandbox-namespace': 'default',
    'io.kubernetes.cri.sandbox-name': name,
  };
  return JSON.stringify({ annotations });
}

const FOLDERS = new Set(['/tasks', '/none']);

it('reads each bundle once, one that is not whole again, and forgets those that are gone', async () => {
  const cache = new BundleCache();
  await write('s', configOf('s', 'web'));
  await write('c', '{"annot');
  await write('other', '{}');
  const web = { namespace: 'default', name: 'web', uid: '' };
  const sandbox = { id: 's', sandboxId: 's', owner: { pod: web } };
  expect(await cache.list(files, FOLDERS)).toEqual([sandbox]);
  await write('s', 'is not read again');
  await write('c', configOf('s', 'web'));
  expect(await cache.list(files, FOLDERS)).toEqual(
    expect.arrayContaining([sandbox, { id: 'c', sandboxId: 's', owner: { pod: web } }]),
  );
  await rm(join(root, 'tasks/s'), { recursive: true });
  expect(await cache.list(files, FOLDERS)).toMatchObject([{ id: 'c' }]);
  await write('s', configOf('s', 'another'));
  expect(await cache.list(files, FOLDERS)).toContainEqual({
    ...sandbox,
    owner: { pod: { ...web, name: 'another' } },
  });
});
