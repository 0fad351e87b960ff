import { type StartFailures } from '../../status/start-failures.js';
import { type SyncPodResult } from '../workers/pod-syncer.js';

import { type SyncFailure, toSyncError } from './sync-failure.js';
import { type AppliedActions } from './sync-pod-actions.js';

/**
 * Keeps why containers of a pod wait, for its status. Gives whether that differs from what was known; containers that
 * were not tried keep what they had.
 */
export function rememberStartFailures(
  podUid: string,
  { tried, failures }: AppliedActions,
  startFailures: Pick<StartFailures, 'record' | 'clear' | 'find'>,
): boolean {
  const failed = failures.filter(({ action }) => action === 'StartContainer' || action === 'InitContainer');
  const names = [...new Set([...tried, ...failed.map(({ subject }) => subject)])];
  const read = (): string => JSON.stringify(names.map((name) => startFailures.find(podUid, name) ?? null));
  const before = read();
  for (const name of tried) startFailures.clear(podUid, name);
  for (const { subject, reason, message } of failed) {
    startFailures.record(podUid, subject, { reason, message });
  }
  return read() !== before;
}

/**
 * What a sync came to, by what went wrong in it. What only has to wait is no failure: the pod is synced again when the
 * first wait is over, `requeues` included. Throws POD_SYNC_FAILED for everything else. Pure.
 */
export function toSyncResult(
  failures: readonly SyncFailure[],
  requeues: readonly (number | undefined)[],
): SyncPodResult {
  const waits = failures.map(({ retryAfterMs }) => retryAfterMs);
  if (waits.includes(undefined)) throw toSyncError(failures);
  const known = [...requeues, ...waits].filter((wait) => wait !== undefined);
  return { isTerminal: false, ...(known.length === 0 ? {} : { requeueAfterMs: Math.min(...known) }) };
}
