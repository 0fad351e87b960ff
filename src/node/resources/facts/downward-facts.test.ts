import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { aSpecPod } from '#support/builders/node-pods.js';
import { computeDownwardFacts, findDiskBytes } from './downward-facts.js';

const NODE = {
  ...{ name: 'node1', hostIps: ['192.0.2.7'] },
  allocatable: { cpuMilli: 1_000n, memoryBytes: 1n },
};

it('a pod has the addresses of its sandbox, that of the node’s family first', () => {
  const { podIps, ...rest } = computeDownwardFacts(aSpecPod(), ['fd00::5', '10.88.0.5', '10.88.0.6'], NODE);
  expect(podIps).toEqual(['10.88.0.5', 'fd00::5']);
  expect(rest).toEqual({
    ...{ hostIps: ['192.0.2.7'], nodeName: 'node1', serviceAccountName: 'default' },
    allocatable: NODE.allocatable,
  });
});

it('a pod on the host’s network has those of the host', () => {
  const pod = aSpecPod({ hostNetwork: true });
  expect(computeDownwardFacts(pod, ['127.0.0.1'], NODE).podIps).toEqual(['192.0.2.7']);
});

it('the size of a disk is known where there is one', async () => {
  expect(await findDiskBytes(tmpdir())).toBeGreaterThan(1_000_000n);
  expect(await findDiskBytes(join(tmpdir(), 'podloop', 'no such folder'))).toBeUndefined();
});
