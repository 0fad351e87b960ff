import { Session } from 'node:inspector/promises';

interface SampledNode {
  readonly selfSize: number;
  readonly children: readonly SampledNode[];
}

/** On average one sample for so many bytes: near enough to each object that the sum is what was allocated. */
const INTERVAL_BYTES = 512;

/**
 * Bytes that a piece of work allocates on V8's heap, what was collected meanwhile included: an estimate from samples.
 * Memory outside of the heap, such as that of a Buffer, is not in it.
 */
export async function measureAllocation(run: () => Promise<unknown>): Promise<number> {
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: INTERVAL_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await run();
    const { profile } = await session.post('HeapProfiler.stopSampling');
    return sizeOf(profile.head);
  } finally {
    session.disconnect();
  }
}

function sizeOf({ selfSize, children }: SampledNode): number {
  return children.reduce((sum, child) => sum + sizeOf(child), selfSize);
}
