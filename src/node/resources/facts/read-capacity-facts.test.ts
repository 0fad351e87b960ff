import { execFile } from 'node:child_process';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { parseThresholds } from '#kube/node/eviction-thresholds.js';
import { buildNodeFactsPort } from '../../cluster/node/node-facts-port.js';
import { readCapacityFacts, readKernelFacts } from './read-capacity-facts.js';
import { resolveAgentOptions } from '../../options/resolve-agent-options.js';

const OPTIONS = resolveAgentOptions({
  ...{ rootDir: tmpdir(), maxPods: 30, podsPerCore: 10, evictionHard: { 'memory.available': '5%' } },
  ...{ systemReserved: { cpu: '500m' }, kubeReserved: { memory: '1Gi' } },
});
const RUNTIME = 'containerd';

it('what pods may have follows from the machine as it is now, and from what was said of it', async () => {
  expect(await readCapacityFacts(OPTIONS, RUNTIME)).toMatchObject({
    ...{ cores: cpus().length, memoryBytes: BigInt(totalmem()) },
    ...{ maxPods: 30, podsPerCore: 10, reserved: [{ cpu: '500m' }, { memory: '1Gi' }] },
    thresholds: parseThresholds(OPTIONS.evictionHard),
    storageBytes: expect.any(BigInt) as bigint,
  });
  expect(
    (await readCapacityFacts({ ...OPTIONS, rootDir: '/nowhere/at/all' }, RUNTIME)).storageBytes,
  ).toBeUndefined();
});

it('what no disk is asked for is the same without one', async () => {
  const { storageBytes: _, ...others } = await readCapacityFacts(OPTIONS, RUNTIME);
  expect(await readKernelFacts(OPTIONS, RUNTIME)).toEqual(others);
});

it('a Node shows the same facts', async () => {
  const nobody = async (): Promise<never> => Promise.reject(new Error('not asked'));
  const port = buildNodeFactsPort({
    options: OPTIONS,
    runtimeName: RUNTIME,
    nodeName: 'here',
    hostname: 'here',
    kubeletPort: () => undefined,
    ...{ client: { status: nobody, version: nobody }, changes: { listImages: nobody } },
  });
  expect(await port.resources(AbortSignal.timeout(10_000))).toEqual(
    await readCapacityFacts(OPTIONS, RUNTIME),
  );
});

const isAllowedAll = availableParallelism() === cpus().length && cpus().length > 1;

it.runIf(isAllowedAll)(
  'pods of a runtime beside us may use the whole machine, and those of our own what we may use',
  async () => {
    const keepTo = async (list: string): Promise<void> => {
      await promisify(execFile)('taskset', ['--all-tasks', '--cpu-list', '--pid', list, String(process.pid)]);
    };
    await keepTo('0');
    try {
      expect(await readKernelFacts(OPTIONS, RUNTIME)).toMatchObject({ cores: cpus().length });
      expect(await readKernelFacts(OPTIONS, 'podloop-embedded')).toMatchObject({
        cores: 1,
      });
    } finally {
      await keepTo(`0-${cpus().length - 1}`);
    }
  },
);
