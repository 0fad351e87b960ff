import { describe, expect, it } from 'vitest';
import { type NodeObject, readNode } from './node-object.js';
import { diffNodes } from './node-status-patch.js';

const node = (status: Record<string, unknown>, metadata: Record<string, unknown> = {}): NodeObject =>
  readNode({ metadata: { name: 'here', ...metadata }, status })!;
const condition = (type: string, status: string, beat: string) => ({
  ...{ type, status, reason: 'R', message: 'm', lastTransitionTime: 'then', lastHeartbeatTime: beat },
});

describe('the difference between two Nodes', () => {
  it('is nothing where only amounts are written otherwise', () => {
    const before = node({ capacity: { memory: '1Gi', cpu: '2' } });
    expect(diffNodes(before, node({ capacity: { memory: '1024Mi', cpu: '2000m' } }))).toEqual({
      ...{ body: undefined, isChange: false },
    });
  });

  it('names keys that are new, changed or gone', () => {
    const before = node({ capacity: { cpu: '2', 'hugepages-2Mi': '0' } }, { labels: { a: '1', b: '2' } });
    const after = node({ capacity: { cpu: '4', pods: '110' } }, { labels: { a: '1', b: '3' } });
    expect(diffNodes(before, after)).toEqual({
      isChange: true,
      body: {
        metadata: { labels: { b: '3' } },
        status: { capacity: { cpu: '4', pods: '110', 'hugepages-2Mi': null } },
      },
    });
  });

  it('is no change where only the heartbeat is another, but is sent when it is time', () => {
    const before = node({ conditions: [condition('Other', 'True', '1'), condition('Ready', 'True', '1')] });
    const after = node({ conditions: [condition('Other', 'True', '1'), condition('Ready', 'True', '2')] });
    expect(diffNodes(before, after)).toEqual({
      isChange: false,
      body: {
        status: {
          '$setElementOrder/conditions': [{ type: 'Other' }, { type: 'Ready' }],
          conditions: [condition('Ready', 'True', '2')],
        },
      },
    });
  });

  it.each([true, false])(
    'is no change where the API server does not know whether the node runs in a user namespace: %s',
    (runningInUserNamespace) => {
      const before = node({ nodeInfo: { kubeletVersion: 'v1' } });
      const nodeInfo = { kubeletVersion: 'v1', runningInUserNamespace };
      const body = { status: { nodeInfo: { runningInUserNamespace } } };
      expect(diffNodes(before, node({ nodeInfo }))).toEqual({ isChange: false, body });
      const newer = { ...nodeInfo, kubeletVersion: 'v2' };
      expect(diffNodes(before, node({ nodeInfo: newer })).isChange).toBe(true);
      expect(diffNodes(before, node({ nodeInfo, capacity: { cpu: '1' } })).isChange).toBe(true);
      expect(diffNodes(node({ nodeInfo }), node({ nodeInfo }))).toEqual({ isChange: false, body: undefined });
    },
  );

  it('replaces addresses, which would be merged by type and keep the old one', () => {
    const before = node({ addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] });
    const after = node({ addresses: [{ type: 'InternalIP', address: '192.0.2.2' }] });
    expect(diffNodes(before, after).body).toEqual({
      status: { addresses: [{ type: 'InternalIP', address: '192.0.2.2' }, { $patch: 'replace' }] },
    });
  });

  it('replaces other lists as wholes', () => {
    const images = [{ names: ['a'], sizeBytes: 2 }];
    const before = node({ images: [...images, { names: ['b'], sizeBytes: 1 }], declaredFeatures: ['A'] });
    expect(diffNodes(before, node({ images })).body).toEqual({ status: { images, declaredFeatures: null } });
  });
});

describe('what is no Node', () => {
  it.each([undefined, null, 3, [], {}, { metadata: null }, { metadata: { name: 3 } }])(
    'is not read: %j',
    (value) => {
      expect(readNode(value)).toBeUndefined();
    },
  );

  it('is left out where a part of a Node is of another shape', () => {
    const status = {
      conditions: [null, 3, { type: 'Ready' }],
      addresses: {},
      capacity: { cpu: 2 },
      images: 'x',
    };
    expect(readNode({ metadata: { name: 'here', labels: { a: 1, b: 'c' } }, spec: [], status })).toEqual({
      ...{ apiVersion: 'v1', kind: 'Node', spec: {} },
      metadata: { name: 'here', labels: { b: 'c' }, annotations: {} },
      status: { conditions: [], addresses: [], capacity: {}, allocatable: {}, images: [] },
    });
  });
});
