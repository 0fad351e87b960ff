import { cri, type CriClient } from '../cri/index.js';
import { isUnimplemented } from '../util/errors.js';
import { type CgroupDriver } from './pod-cgroup-names.js';

/** What a runtime says of itself: its driver, or that it does not tell. */
export type ToldCgroupDriver = CgroupDriver | 'not told';

const DRIVERS: ReadonlyMap<cri.CgroupDriver, CgroupDriver> = new Map([
  [cri.CgroupDriver.SYSTEMD, 'systemd'],
  [cri.CgroupDriver.CGROUPFS, 'cgroupfs'],
]);

/**
 * Asks a runtime for its cgroup driver. Runtimes of before CRI's RuntimeConfig (containerd before 2.0, CRI-O before
 * 1.28) do not tell; neither does one that answers without a word about Linux. Any other failure rejects.
 */
export async function readCgroupDriver(
  client: Pick<CriClient, 'runtimeConfig'>,
  { signal, timeoutMs }: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
): Promise<ToldCgroupDriver> {
  try {
    const { linux } = await client.runtimeConfig({}, { signal, timeoutMs });
    // Without Linux's part the field would read as 0, which means systemd. A peer may send a value of tomorrow.
    return (linux && DRIVERS.get(linux.cgroupDriver)) ?? 'not told';
  } catch (error) {
    if (isUnimplemented(error)) return 'not told';
    throw error;
  }
}
