import { expect, it } from 'vitest';
import { type ContainerLimits } from '../../../watch/observed/runtime.js';
import { aSpecPod } from '#support/builders/node-pods.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { type ContainerToResize } from '../actions/pod-actions.js';
import { ContainerResizer } from './resize-containers.js';

function limits(memoryBytes: bigint | undefined, cpuQuotaUs?: bigint): ContainerLimits {
  return { cpuShares: 2n, cpuQuotaUs, cpuPeriodUs: 100_000n, memoryBytes };
}

function toResize(id: string, from: ContainerLimits, to: ContainerLimits): ContainerToResize {
  return { id, container: { name: id, image: 'i' }, change: { cpu: true, memory: true, from, to } };
}

it('takes from containers before it gives to others, so that the pod has room for both', async () => {
  const order: string[] = [];
  const resizer = new ContainerResizer({
    changes: { updateContainerResources: (id) => Promise.resolve(void order.push(id)) },
    resizes: { applied: () => undefined, refused: () => undefined },
    memoryUsage: () => Promise.resolve(undefined),
    events: { record: () => undefined },
    logger: SILENT_LOGGER,
  });
  const all = [
    toResize('unlimited', limits(1n), limits(undefined)),
    toResize('more of both', limits(1n, 1n), limits(2n, 2n)),
    toResize('more', limits(1n), limits(2n)),
    toResize('less', limits(2n), limits(1n)),
    toResize('limited', limits(undefined), limits(1n)),
  ];
  expect(await resizer.resize(aSpecPod({}), all, new AbortController().signal)).toEqual([]);
  expect(order).toEqual(['less', 'limited', 'unlimited', 'more', 'more of both']);
});
