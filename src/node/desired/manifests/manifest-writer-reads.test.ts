import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type * as manifestReader from './manifest-reader.js';
import { readManifests } from './manifest-reader.js';
import { type AppliedObject, ManifestWriter } from './manifest-writer.js';

vi.mock('./manifest-reader.js', async (importOriginal) => {
  const actual = await importOriginal<typeof manifestReader>();
  return { ...actual, readManifests: vi.fn(actual.readManifests) };
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-writer-'));
  vi.mocked(readManifests).mockClear();
});
afterEach(async () => rm(folder, { recursive: true }));

const WEB: AppliedObject = { kind: 'Pod', namespace: 'default', name: 'web' };
const web = (spec: object) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } },
  spec: { containers: [{ name: 'main', image: 'a:1' }], ...spec },
});

it.each([
  ['that is fine', {}, 'applied'],
  ['that a new pod may not be', { ephemeralContainers: [{ name: 'debug', image: 'b:1' }] }, 'invalid'],
])('the manifest of a new pod %s is read once', async (_which, spec, kind) => {
  const writer = new ManifestWriter({
    ...{ folder, nodeName: 'node', findFile: () => undefined, findForbidden: () => [] },
  });
  expect((await writer.apply(WEB, web(spec), { isDryRun: true })).kind).toBe(kind);
  expect(readManifests).toHaveBeenCalledTimes(1);
});
