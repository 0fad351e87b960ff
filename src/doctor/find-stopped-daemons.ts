import { type HostFiles } from './facts/host-files.js';
import { readProcesses } from './facts/process-table.js';
import { type Finding } from './finding.js';
import { type DaemonAddresses, readDaemons } from './host/read-daemons.js';
import { judgeStopped } from './rules/daemon-rules.js';

/**
 * Finds a runtime or a kubelet whose process is stopped or frozen. It reads /proc and sends no call, so it has an
 * answer at once while everything else waits for that process. Rejects when there is no /proc.
 */
export async function findStoppedDaemons(files: HostFiles, addresses: DaemonAddresses): Promise<Finding[]> {
  const daemons = await readDaemons(files, await readProcesses(files), addresses);
  return judgeStopped(daemons, files.clock.now());
}
