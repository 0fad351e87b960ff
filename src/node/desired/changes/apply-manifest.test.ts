import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ApplyObject } from '../../api/objects/apply-object.js';
import { FakeClock } from '#testing/fake-clock.js';
import { applyManifests } from './apply-manifest.js';
import { WritableManifests } from './writable-manifests.js';

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'podloop-apply-'))));
afterEach(async () => rm(folder, { recursive: true }));

const pod = (image: string) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } },
  spec: { containers: [{ name: 'c', image }] },
});
const withData = (kind: 'ConfigMap' | 'Secret', text: string) => ({
  ...{ apiVersion: 'v1', kind, metadata: { name: 'x' } },
  ...(kind === 'Secret' ? { stringData: { key: text } } : { data: { key: text } }),
});

/** Of an agent that hears the end of a wait for what it wrote at once. `stopped`: uids of pods that somebody has deleted. */
function applier(stopped = new Set<string>()): (...given: readonly object[]) => Promise<unknown[]> {
  const manifests = new WritableManifests({
    ...{ clock: new FakeClock(), nodeName: 'node', manifests: { path: folder, findFile: () => undefined } },
    policy: { forbid: new Set<never>(), allowedHostPaths: undefined },
  });
  const apply: ApplyObject = applyManifests({
    ...{ nodeName: 'node', manifests, desired: { find: () => undefined } },
    ...{ adoption: { uidOf: (uid) => uid }, objects: { all: () => [] } },
    workloads: { roots: () => [] },
    stopped: {
      release: async (uid) => {
        stopped.add(uid);
        return Promise.resolve(stopped.has('all'));
      },
    },
  });
  return async (...given) => {
    const results: unknown[] = [];
    for (const value of given) {
      const { kind } = value as { kind: 'Pod' };
      const object = { kind, namespace: 'default', name: 'x', value, isDryRun: false };
      const applied = await apply(object, AbortSignal.abort());
      results.push(applied.kind === 'applied' ? applied.result : applied);
    }
    return results;
  };
}

describe('an object that is applied', () => {
  it.each([
    ['Pod', pod('a:1'), pod('a:2')],
    ['ConfigMap', withData('ConfigMap', 'a'), withData('ConfigMap', 'b')],
    ['Secret', withData('Secret', 'a'), withData('Secret', 'b')],
  ])('is created, unchanged, configured, and unchanged again: %s', async (_, first, second) => {
    expect(await applier()(first, first, second, second, first)).toEqual([
      ...['created', 'unchanged', 'configured', 'unchanged', 'configured'],
    ]);
  });

  it('is created again when it was deleted, though its manifest is as it was', async () => {
    expect(await applier(new Set(['all']))(pod('a:1'), pod('a:1'), pod('a:2'))).toEqual([
      ...['created', 'created', 'created'],
    ]);
  });
});
