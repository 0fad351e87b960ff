import { expect, it } from 'vitest';
import { type EvictionSignal } from '#kube/node/eviction-thresholds.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { toEvictionMessage } from './eviction-message.js';
import { toEvictionRules } from './eviction-rules.js';

const MIB = 2 ** 20;
const POD = aNodePod({
  spec: {
    initContainers: [{ name: 'init', image: 'i' }],
    containers: [
      { name: 'main', image: 'i', resources: { requests: { memory: '64Mi', 'ephemeral-storage': '1Gi' } } },
      { name: 'side', image: 'i' },
    ],
  },
});

function met(signal: EvictionSignal) {
  const [rule] = toEvictionRules({
    hard: { [signal]: '10%' },
    soft: {},
    softGraceMs: {},
    minimumReclaim: {},
  });
  return { rule: rule!, supply: { available: 50n << 20n, capacity: 1_000n << 20n } };
}

it('says what was short, and who used more than it had asked for', () => {
  const containers = [
    { name: 'main', memoryBytes: 65 * MIB, writtenBytes: 10, logBytes: 20 },
    { name: 'side', memoryBytes: 1_234, logBytes: 2 * MIB },
  ];
  const use = { containers, volumeBytes: 0 };
  expect(toEvictionMessage(POD, use, met('memory.available'))).toBe(
    'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ' +
      'Container main was using 65Mi, request is 64Mi, has larger consumption of memory. ' +
      'Container side was using 1234, request is 0, has larger consumption of memory. ',
  );
  expect(toEvictionMessage(POD, use, met('nodefs.available'))).toBe(
    'The node was low on resource: ephemeral-storage. Threshold quantity: 100Mi, available: 50Mi. ' +
      'Container side was using 2Mi, request is 0, has larger consumption of ephemeral-storage. ',
  );
});

it('names nobody where nothing is known, or nothing can be asked for', () => {
  const threshold = 'Threshold quantity: 100Mi, available: 50Mi. ';
  expect(toEvictionMessage(POD, undefined, met('memory.available'))).toBe(
    `The node was low on resource: memory. ${threshold}`,
  );
  const use = { containers: [{ name: 'main', logInodes: 5 }], processes: 90, volumeBytes: 0 };
  expect(toEvictionMessage(POD, use, met('nodefs.inodesFree'))).toBe(
    `The node was low on resource: inodes. ${threshold}`,
  );
  expect(toEvictionMessage(POD, use, met('pid.available'))).toBe(
    `The node was low on resource: pids. ${threshold}`,
  );
});
