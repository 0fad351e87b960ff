import { describe, expect, it } from 'vitest';
import { RESOURCE_TYPES } from '../../shared/api/resource-type.js';
import { describeWorkload, isWorkloadType } from './describe-workload.js';
import { TabWriter } from '../../shared/describe/tab-writer.js';

const NOW = Date.parse('2026-11-29T12:00:00Z');
const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'a', image: 'a:1', command: ['sleep', '9'] }] },
};
const linesOf = (plural: string, object: object) => {
  const writer = new TabWriter();
  const metadata = { name: 'web', creationTimestamp: '2026-11-29T11:00:00Z' };
  describeWorkload(plural, { metadata, ...object }, { events: [], nowMs: NOW }, writer);
  return writer.lines().map((line) => line.replaceAll(/ +/g, ' ').trim());
};

describe('a workload that is described', () => {
  it('says what it wants, how far it is, why, and what its pods are', () => {
    const lines = linesOf('deployments', {
      spec: { replicas: 3, minReadySeconds: 5, template },
      status: {
        ...{ readyReplicas: 1, updatedReplicas: 3 },
        conditions: [{ type: 'Available', status: 'False', reason: 'Few', message: '1 of 3' }],
      },
    });
    expect(lines).toEqual([
      ...['Ready: 1/3', 'Up-to-date: 3', 'Available: 0', 'Selector: <none>', 'Min Ready Seconds: 5'],
      ...['Pod Template:', 'Labels: app=web', 'Containers:', 'a:', 'Image: a:1', 'Command: sleep 9'],
      ...['Conditions:', 'Type Status Reason Message', 'Available False Few 1 of 3'],
      'Events: <none>',
    ]);
  });

  it('says of a claim where its size is enforced', () => {
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    expect(linesOf('persistentvolumeclaims', { spec })).toContain(
      'Size Limit: where the file system has project quotas; see podloop volumes',
    );
    expect(linesOf('deployments', { spec: { template } }).join()).not.toContain('Size Limit');
  });

  it('shows no control characters of its manifest', () => {
    const spec = { schedule: '\u001b[2J', jobTemplate: { spec: { template } } };
    expect(linesOf('cronjobs', { spec }).join('')).not.toContain('\u001b');
  });

  it('is any kind that has pods, and a claim', () => {
    const plain = [
      ...['configmaps', 'endpoints', 'endpointslices', 'events', 'nodes', 'pods', 'secrets'],
      'services',
    ];
    const found = RESOURCE_TYPES.filter(({ plural }) => !isWorkloadType(plural));
    expect(found.map(({ plural }) => plural).sort()).toEqual(plain);
  });
});
