import { spawnSync } from 'node:child_process';

import { findInstaller } from './harness/installed.js';
import { removeAbandonedInstances } from './harness/leftovers.js';

/** Before all tests on a real containerd: fetch it unless it is there, and clear what a killed run left. */
export async function setup(): Promise<void> {
  const { status } = spawnSync(process.execPath, [findInstaller().script], { stdio: 'inherit' });
  if (status !== 0) throw new Error('containerd could not be installed; see above');
  const removed = await removeAbandonedInstances();
  if (removed.length > 0) console.log(`removed what earlier runs left: ${removed.join(', ')}`);
}
