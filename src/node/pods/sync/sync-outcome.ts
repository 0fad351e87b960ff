import { type StartFailures } from '../../status/start-failures.js';
import { type SyncPodResult } from '../workers/pod-syncer.js';

import { type SyncFailure, toSyncError } from './sync-failure.js';
import { type AppliedActions } from './sync-pod-actions.js';

/**
 * Records why containers of a pod wait, for its status; true if something changed.
 *
 * Containers that were not tried keep their reason.
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
 * The result of a sync with these failures. Pure.
 *
 * A wait is no failure: the pod is synced again when the first wait is over, `requeues` included. Throws
 * POD_SYNC_FAILED for everything else.
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
