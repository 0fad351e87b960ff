import { expect, it } from 'vitest';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { admitUnderPressure } from './admit-under-pressure.js';

const CALM = { memory: false, disk: false, pid: false };
const api = (tolerations: readonly object[] = []) => ({
  metadata: { name: 'web', namespace: 'default', uid: 'uid-web' },
  spec: { tolerations },
});
const asking = { containers: [{ name: 'main', image: 'i', resources: { requests: { memory: '1Mi' } } }] };
const pod = aNodePod({ source: 'api' });

it('takes every pod while nothing is short', () => {
  expect(admitUnderPressure(pod, api(), CALM)).toBeUndefined();
});

it('takes no pod without requests while memory is short, unless it tolerates that', () => {
  const short = { ...CALM, memory: true };
  expect(admitUnderPressure(pod, api(), short)).toEqual({
    reason: 'Evicted',
    message: 'The node had condition: [MemoryPressure]. ',
  });
  expect(admitUnderPressure(aNodePod({ source: 'api', spec: asking }), api(), short)).toBeUndefined();
  const tolerant = api([{ key: 'node.kubernetes.io/memory-pressure', operator: 'Exists' }]);
  expect(admitUnderPressure(pod, tolerant, short)).toBeUndefined();
  expect(admitUnderPressure(pod, api([{ operator: 'Exists', effect: 'NoExecute' }]), short)).toBeDefined();
});

it('takes none but critical pods while something else is short', () => {
  const short = { memory: true, disk: true, pid: true };
  expect(
    admitUnderPressure(aNodePod({ source: 'api', spec: asking }), api([{ operator: 'Exists' }]), short),
  ).toEqual({
    reason: 'Evicted',
    message: 'The node had condition: [MemoryPressure DiskPressure PIDPressure]. ',
  });
  const critical = aNodePod({ source: 'api', spec: { priorityClassName: 'system-node-critical' } });
  expect(admitUnderPressure(critical, api(), short)).toBeUndefined();
});
