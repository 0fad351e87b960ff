import { type Logger } from '#base/log/logger.js';
import { type PodWorker } from './pod-worker.js';
import { type PodWorkRequest } from './work-request.js';

/** The effects of a request on others than the worker itself. */
export interface RequestEffects {
  readonly logger: Logger;
  /** A pod that has not started will never start: others of its name may. */
  readonly onNeverToStart: (worker: PodWorker) => void;
}

/** Applies a request to a worker that is not finished: the newest version, or the end. */
export function acceptRequest(worker: PodWorker, request: PodWorkRequest, effects: RequestEffects): void {
  const { demand, state } = worker;
  const kill = request.type === 'kill' ? request.kill : undefined;
  if (state.isTerminated) {
    kill?.onCompleted?.();
    // From an older list: what is left of the pod is being cleaned up already.
    if (!('pod' in request)) return;
    demand.want(request.pod);
    worker.ask(request.type);
    return;
  }
  if ('pod' in request) demand.want(request.pod);
  else demand.see(request.runningPod);
  const becameEnding = !state.isTerminationRequested && isToEnd(worker, request, effects.logger);
  if (becameEnding) beginEnding(worker, effects);
  const isShortened = state.isTerminationRequested && demand.end(kill);
  worker.ask(request.type);
  if (becameEnding || isShortened) worker.cancelSync();
}

/** Ends a pod that is gone from its source; does nothing more for one that is ending. */
export function endOrphan(worker: PodWorker, effects: RequestEffects): void {
  // A pod that is gone from its source counts as deleted there.
  worker.isDeleted = true;
  if (worker.state.isTerminationRequested) return;
  effects.logger.info('Pod is gone from its source: ending it', fieldsOf(worker), 4);
  beginEnding(worker, effects);
  worker.demand.end(undefined);
  worker.ask('kill');
  worker.cancelSync();
}

function isToEnd(worker: PodWorker, request: PodWorkRequest, logger: Logger): boolean {
  if (!('pod' in request)) {
    logger.info('Pod is known to the runtime alone: ending it', fieldsOf(worker), 4);
    worker.isDeleted = true;
  } else if (request.pod.metadata.deletionTimestamp !== undefined) {
    logger.info('Pod was deleted: ending it', fieldsOf(worker), 4);
    worker.isDeleted = true;
  } else if (request.type === 'kill') {
    logger.info('Pod is to end', { ...fieldsOf(worker), evict: request.kill?.evict === true }, 4);
  } else return false;
  return true;
}

function beginEnding(worker: PodWorker, { onNeverToStart }: RequestEffects): void {
  const hasNeverBegun = worker.state.phase === 'waiting';
  worker.state.transition(['waiting', 'syncing'], 'stopping');
  if (hasNeverBegun) onNeverToStart(worker);
}

function fieldsOf({ ref }: PodWorker): { readonly pod: object; readonly podUID: string } {
  return { pod: ref, podUID: ref.uid };
}
