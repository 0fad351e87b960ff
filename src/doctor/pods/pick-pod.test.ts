import { describe, expect, it } from 'vitest';
import { known, notKnown } from '../looked.js';
import { type ListedContainer, type ListedSandbox } from '../runtime-port.js';
import { pickPod, type SeenPods } from './pick-pod.js';

const aPod = (namespace: string, name: string, uid = `uid-${namespace}-${name}`) => ({
  metadata: { namespace, name, uid },
});
const aSandbox = (
  namespace: string,
  name: string,
  uid = `uid-${namespace}-${name}`,
  createdAtMs = 0,
): ListedSandbox => ({
  ...{ id: `s-${uid}-${createdAtMs}`, pod: { namespace, name, uid }, attempt: 0, ready: true, createdAtMs },
});
const aContainer = (sandboxId: string): ListedContainer => ({
  ...{ id: `c-${sandboxId}`, name: 'app', sandboxId, attempt: 0, state: 'running', createdAtMs: 0 },
});
const see = (changes: Partial<SeenPods>): SeenPods => ({
  ...{ ofAgent: notKnown('no agent'), ofKubelet: notKnown('no kubelet'), lists: undefined },
  ...changes,
});

describe('a pod is picked', () => {
  it('of any namespace where its name is in one alone', () => {
    const seen = see({ ofKubelet: known({ items: [aPod('default', 'web'), aPod('prod', 'db')] }) });
    expect(pickPod(seen, { name: 'db' })).toMatchObject({
      kind: 'found',
      pod: { namespace: 'prod' },
      source: 'the kubelet',
    });
  });

  it('by its namespace where there are several', () => {
    const seen = see({ ofKubelet: known({ items: [aPod('prod', 'web'), aPod('default', 'web')] }) });
    expect(pickPod(seen, { name: 'web' })).toEqual({ kind: 'ambiguous', pods: ['default/web', 'prod/web'] });
    expect(pickPod(seen, { name: 'web', namespace: 'prod' })).toMatchObject({
      kind: 'found',
      pod: { namespace: 'prod' },
    });
  });

  it('from the agent before the kubelet, and from the runtime last', () => {
    const lists = { sandboxes: [aSandbox('default', 'web'), aSandbox('default', 'left')], containers: [] };
    const seen = see({
      ...{ ofAgent: known({ items: [aPod('default', 'web')] }), lists },
      ofKubelet: known({ items: [aPod('default', 'web')] }),
    });
    expect(pickPod(seen, { name: 'web' })).toMatchObject({ source: 'podloop’s agent' });
    expect(pickPod(seen, { name: 'left' })).toMatchObject({ source: 'the runtime' });
  });

  it('with its own sandboxes, newest first, and not those of one that was there before', () => {
    const sandboxes = [
      ...[aSandbox('default', 'web', 'new', 1), aSandbox('default', 'web', 'new', 2)],
      ...[aSandbox('default', 'web', 'old', 3), aSandbox('prod', 'web', 'new', 4)],
    ];
    const lists = { sandboxes, containers: sandboxes.map(({ id }) => aContainer(id)) };
    const picked = pickPod(see({ ofKubelet: known({ items: [aPod('default', 'web', 'new')] }), lists }), {
      name: 'web',
      namespace: 'default',
    });
    expect(picked).toMatchObject({ sandboxes: [{ createdAtMs: 2 }, { createdAtMs: 1 }] });
    expect(picked.kind === 'found' && picked.containers).toHaveLength(2);
  });

  it('by its name in the manifest, behind which an agent puts that of its node', () => {
    const object = (name: string, nodeName = 'Vm') => ({
      metadata: {
        ...{ namespace: 'default', name, uid: name },
        annotations: { 'kubernetes.io/config.source': 'file' },
      },
      spec: { nodeName },
    });
    const pods = see({ ofAgent: known({ items: [object('web-vm'), object('db-0')] }) });
    expect(pickPod(pods, { name: 'web' })).toMatchObject({ kind: 'found', pod: { name: 'web-vm' } });
    expect(pickPod(pods, { name: 'web-vm' })).toMatchObject({ kind: 'found', pod: { name: 'web-vm' } });
    expect(pickPod(pods, { name: 'db' })).toMatchObject({ kind: 'absent', similar: ['default/db-0'] });
  });

  it('not when it is not there; who was asked says whether that is sure', () => {
    const lists = { sandboxes: [aSandbox('default', 'web-node-1')], containers: [] };
    expect(pickPod(see({ lists }), { name: 'web' })).toEqual({
      kind: 'absent',
      isSure: false,
      similar: ['default/web-node-1'],
    });
    const seen = see({ ofKubelet: known({ items: [aPod('prod', 'web')] }) });
    expect(pickPod(seen, { name: 'web', namespace: 'default' })).toEqual({
      kind: 'absent',
      isSure: true,
      similar: ['prod/web'],
    });
    expect(pickPod(see({ ofKubelet: known(null) }), { name: 'x' })).toMatchObject({ kind: 'absent' });
  });
});
