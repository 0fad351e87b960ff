import { availableParallelism, tmpdir, totalmem } from 'node:os';
import { expect, it } from 'vitest';
import { parseThresholds } from '../../model/eviction-thresholds.js';
import { buildNodeFactsPort } from '../cluster-node/node-facts-port.js';
import { readCapacityFacts, readKernelFacts } from './read-capacity-facts.js';
import { resolveAgentOptions } from '../resolve-agent-options.js';

const OPTIONS = resolveAgentOptions({
  ...{ rootDir: tmpdir(), maxPods: 30, podsPerCore: 10, evictionHard: { 'memory.available': '5%' } },
  ...{ systemReserved: { cpu: '500m' }, kubeReserved: { memory: '1Gi' } },
});

it('what pods may have follows from the machine as it is now, and from what was said of it', async () => {
  expect(await readCapacityFacts(OPTIONS)).toMatchObject({
    ...{ cores: availableParallelism(), memoryBytes: BigInt(totalmem()) },
    ...{ maxPods: 30, podsPerCore: 10, reserved: [{ cpu: '500m' }, { memory: '1Gi' }] },
    thresholds: parseThresholds(OPTIONS.evictionHard),
    storageBytes: expect.any(BigInt) as bigint,
  });
  expect((await readCapacityFacts({ ...OPTIONS, rootDir: '/nowhere/at/all' })).storageBytes).toBeUndefined();
});

it('what no disk is asked for is the same without one', async () => {
  const { storageBytes: _, ...others } = await readCapacityFacts(OPTIONS);
  expect(await readKernelFacts(OPTIONS)).toEqual(others);
});

it('a Node tells of the same facts', async () => {
  const nobody = async (): Promise<never> => Promise.reject(new Error('not asked'));
  const port = buildNodeFactsPort({
    ...{ options: OPTIONS, nodeName: 'here', hostname: 'here', kubeletPort: () => undefined },
    ...{ client: { status: nobody, version: nobody }, changes: { listImages: nobody } },
  });
  expect(await port.resources(AbortSignal.timeout(10_000))).toEqual(await readCapacityFacts(OPTIONS));
});
