import { describe, expect, it } from 'vitest';
import { ServedPodsHarness } from '#support/harness/served-pods-harness.js';
import { podFinder } from './list-pods.js';

const owner = (kind: string, name: string) => ({
  ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid: 'u', controller: true }],
});

describe('a pod that is not there', () => {
  it.each([
    ['web', 'deployment/web for one of its pods, or a pod such as web-5d9-x1'],
    ['db', 'statefulset/db for one of its pods, or a pod such as db-0'],
    ['web-5d9', 'replicaset/web-5d9 for one of its pods'],
    ['we', undefined],
    ['x', undefined],
  ])('by the name %s', (name, hint) => {
    const scene = new ServedPodsHarness();
    scene.set({ name: 'web-5d9-x1', ...owner('ReplicaSet', 'web-5d9') });
    scene.set({ name: 'db-0', ...owner('StatefulSet', 'db') });
    scene.set({ name: 'x-1', namespace: 'other', ...owner('Job', 'x') });
    const find = (): unknown => podFinder(scene.table)({ params: { namespace: 'default', name } });
    const message = `pods "${name}" not found`;
    expect(find).toThrow(
      expect.objectContaining({
        ...{ code: 404, reason: 'NotFound' },
        message: hint === undefined ? message : (expect.stringMatching(`^${message};.*${hint}`) as string),
      }),
    );
  });
});
