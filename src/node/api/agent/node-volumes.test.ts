import { describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { type StoppedPod } from '../../desired/stopped-pods.js';
import { type LocalClaim } from '../../volumes/claims/local-claims.js';
import { nodeVolumes } from './node-volumes.js';

const CLAIM: LocalClaim = {
  ...{ namespace: 'default', name: 'data', uid: 'u', createdAtMs: 0, accessModes: [] },
};
const claiming = (name: string, claimName = 'data', namespace = 'default'): NodePod =>
  aNodePod({ name, namespace, spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }] } });
const aStop = (name: string, more: Partial<StoppedPod> = {}): StoppedPod => ({
  ...{ uid: `uid-${name}`, namespace: 'default', name, source: 'file', manifestHash: 'h' },
  ...{ deletionTimestamp: '2026-01-02T03:04:35Z', gracePeriodSeconds: 1, isOver: true, claims: ['data'] },
  ...more,
});

function setUp(pods: readonly NodePod[], stops: readonly StoppedPod[]) {
  const removed: string[] = [];
  const volumes = nodeVolumes({
    claims: {
      list: () => [CLAIM],
      pathOf: ({ name }) => `/claims/${name}`,
      whyNotEnforced: () => 'no quotas',
      remove: async ({ name }) => {
        removed.push(name);
        return Promise.resolve('removed');
      },
    },
    workloads: { claims: () => [] },
    pods: () => pods,
    stopped: { list: () => [...stops] },
  });
  return { volumes, removed };
}

describe('the volume of a claim', () => {
  it('is in use by pods that have the claim, and by those that are stopped and not deleted', async () => {
    const pods = [claiming('web'), claiming('other', 'logs'), claiming('far', 'data', 'away')];
    const stops = [
      aStop('db'),
      aStop('ending', { isOver: false }),
      aStop('elsewhere', { namespace: 'away' }),
      aStop('without', { claims: ['logs'] }),
    ];
    const { claims: _, ...deleted } = aStop('deleted');
    const { volumes, removed } = setUp(pods, [...stops, deleted]);
    expect(volumes.list()).toMatchObject([
      { name: 'data', usedBy: ['web', 'db (stopped)'], whyNotEnforced: 'no quotas' },
    ]);
    expect(await volumes.remove({ namespace: 'default', name: 'data' })).toBe('in use');
    expect(removed).toEqual([]);
  });

  it('is removed when nobody uses it', async () => {
    const { claims: _, ...deleted } = aStop('deleted');
    const { volumes, removed } = setUp([claiming('other', 'logs')], [deleted]);
    expect(await volumes.remove({ namespace: 'default', name: 'data' })).toBe('removed');
    expect(removed).toEqual(['data']);
  });
});
