import { findCapabilities, hasCapability } from '#base/proc/proc-text.js';
import { readFile, writeFile } from 'node:fs/promises';
import { type LinuxContainerResources } from '#watch/messages';

/** The bit of CAP_SYS_RESOURCE in a set of capabilities; see capabilities(7). */
const CAP_SYS_RESOURCE = 24n;

/**
 * What a container's launching process writes into its own /proc/self/oom_score_adj, before it gives capabilities
 * up. That it is refused is no error: below the value that the runtime has itself, it needs CAP_SYS_RESOURCE.
 */
export function toOomScoreAdj(resources: LinuxContainerResources | undefined): string {
  return String(resources?.oomScoreAdj ?? 0n);
}

/** Whether OOM scores may be lowered: what the kernel says of our capabilities. */
export async function mayLowerOomScore(): Promise<boolean> {
  const status = await readFile('/proc/self/status', 'latin1').catch(() => '');
  return hasCapability(findCapabilities(status, 'CapEff'), CAP_SYS_RESOURCE);
}

/** Sets the OOM score of running processes; how many kept theirs, for want of the right or since they are gone. */
export async function setOomScoreAdj(pids: readonly number[], value: string): Promise<number> {
  const writes = pids.map((pid) => writeFile(`/proc/${pid}/oom_score_adj`, value, { flag: 'r+' }));
  const results = await Promise.allSettled(writes);
  return results.filter(({ status }) => status === 'rejected').length;
}
