import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type PodProgress, WorkloadControllers, type WorkloadRecord } from '../workloads/index.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { readUntilAborted } from '#base/async/read-until-aborted.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type LocalServices } from '../services/local-services.js';
import { type StoppedPods } from '../desired/stopped-pods.js';
import { type PodEventLog } from '../telemetry/reports/pod-event-log.js';
import { type StatusManager } from '../status/status-manager.js';
import { type Feedback, type PodRemains } from './feedback.js';

/** In the root folder: what workloads have made. */
export const WORKLOADS_FOLDER = 'workloads';

/** What {@link buildWorkloads} needs. */
export interface WorkloadsOptions {
  readonly rootDir: string;
  readonly nodeName: string;
  readonly manager: Pick<StatusManager, 'find'>;
  readonly stopped: Pick<StoppedPods, 'find'>;
  readonly events: Pick<PodEventLog, 'record'>;
  readonly feedback: Feedback;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Opens what runs workloads without a control plane. */
export async function buildWorkloads(given: WorkloadsOptions): Promise<WorkloadControllers> {
  const { rootDir, nodeName, manager, stopped, events, feedback, clock, logger } = given;
  const controllers = await WorkloadControllers.open({
    ...{ folder: join(rootDir, WORKLOADS_FOLDER), nodeName, clock, logger },
    progressOf: (pod) => {
      const { uid } = pod.metadata;
      const stop = stopped.find(pod);
      const isStopped = stop !== undefined && stop.comesBack !== true;
      const { isEnded, isGone } = feedback.podRemains.ask(uid);
      const status = manager.find(uid)?.status;
      return toProgress(status, { isStopped, isEnded, isGone: isGone || stop?.isOver === true });
    },
    onEvent: (about, event) => events.record(toReference(about), { ...event, about: kindOf(about) }),
    onClaim: (claim, spec) => feedback.claimDeclared.notify({ claim, spec }),
    random: Math.random,
    newUid: randomUUID,
  });
  feedback.stopsChanged.subscribe(() => controllers.podsChanged());
  return controllers;
}

/** What {@link followPodsOfWorkloads} connects. */
interface FollowedParts {
  readonly manager: StatusManager;
  readonly workloads: WorkloadControllers;
  readonly services: Pick<LocalServices, 'podsChanged'>;
}

/** Reports changes of pods to their workloads and Services until the signal aborts. */
export async function followPodsOfWorkloads(
  { manager, workloads, services }: FollowedParts,
  signal: AbortSignal,
): Promise<void> {
  using changes = manager.subscribe();
  for await (const change of readUntilAborted(changes, signal)) {
    services.podsChanged();
    if (change.type === 'resync') workloads.podsChanged();
    else workloads.podsChanged(change.type === 'status' ? change.record.pod.uid : change.pod.uid);
  }
}

function toProgress(
  status: V1PodStatus | undefined,
  { isStopped, isEnded, isGone }: PodRemains & { readonly isStopped: boolean },
): PodProgress {
  const { phase, conditions = [], initContainerStatuses = [], containerStatuses = [] } = status ?? {};
  const ready = conditions.find(({ type }) => type === 'Ready');
  const all = [...initContainerStatuses, ...containerStatuses];
  const isOver = phase === 'Succeeded' || phase === 'Failed';
  return {
    ...{ isStopped, isGone, isRunning: phase === 'Running' },
    end: isEnded && isOver ? phase : undefined,
    readySinceMs: ready?.status === 'True' && !isOver ? Date.parse(ready.lastTransitionTime) : undefined,
    restarts: all.reduce((sum, { restartCount }) => sum + restartCount, 0),
    exitCodes: Object.fromEntries(
      all.flatMap(({ name, state }) =>
        state.terminated === undefined ? [] : [[name, state.terminated.exitCode]],
      ),
    ),
    conditions: Object.fromEntries(conditions.map(({ type, status: is }) => [type, is])),
  };
}

function toReference({
  uid,
  object: { metadata },
}: WorkloadRecord): Pick<NodePod['metadata'], 'uid' | 'namespace' | 'name'> {
  return { uid, namespace: metadata.namespace, name: metadata.name };
}

function kindOf({ object: { kind, apiVersion } }: WorkloadRecord): {
  readonly kind: string;
  readonly apiVersion: string;
} {
  return { kind, apiVersion };
}
