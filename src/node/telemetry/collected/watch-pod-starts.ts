import { type MetricsRegistry } from '../registry/metrics-registry.js';
import { type PodStartObserver } from '../metrics/pod-start-metrics.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import {
  isTerminalPhase,
  toV1Time,
  type V1ContainerStatus,
  type V1PodStatus,
} from '#kube/pod/v1-pod-status.js';
import { podStatusChanged } from '../../status/status-changes.js';
import { type Clock } from '#base/time/clock.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { imagePullEnded } from '#base/channels/image-channels.js';
import { podAdded } from '#base/channels/start-channels.js';

/** What {@link watchPodStarts} needs. */
export interface PodStartsOptions {
  /** Subscribes to a channel for as long as starts are observed. */
  readonly listen: MetricsRegistry['listen'];
  readonly clock: Clock;
  readonly isOurs: (podUid: string) => boolean;
  /** Whether the pod is being ended: what runs of it then has not started as a pod. */
  readonly isEnding: (podUid: string) => boolean;
  readonly observer: PodStartObserver;
  /** Logs each start in the kubelet's words (default: starts are not logged). */
  readonly logger?: Logger;
}

/** Wall-clock milliseconds. */
interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A pod that does not run as a whole yet. */
interface Starting {
  /** Monotonic milliseconds. */
  readonly sinceMs: number;
  readonly hasNetwork: boolean;
  readonly pulls: Span[];
  /** It was seen before any of it ran: otherwise an earlier agent has started it. */
  wasPending: boolean;
  hasRun: boolean;
}

/** With more pods than that, the oldest one that does not run yet is forgotten. */
const MAX_STARTING = 10_000;
const MAX_PULLS = 100;

/** Notifies the observer when a pod that is new here runs. */
export function watchPodStarts({
  listen,
  clock,
  isOurs,
  isEnding,
  observer,
  logger = SILENT_LOGGER,
}: PodStartsOptions): void {
  const starting = new Map<string, Starting>();
  const update = (ref: PodRef, status: V1PodStatus, pod: Starting): void => {
    const { uid } = ref;
    const { phase, containerStatuses } = status;
    if (isEnding(uid)) {
      starting.delete(uid);
      return;
    }
    if (phase === 'Pending') pod.wasPending = true;
    if (isTerminalPhase(phase) || (phase !== 'Pending' && !pod.wasPending)) starting.delete(uid);
    const runs = phase === 'Running' || containerStatuses.some(hasStarted);
    if (phase === 'Pending' || !pod.wasPending || !runs) return;
    const totalMs = clock.monotonicMs() - pod.sinceMs;
    if (!pod.hasRun) observer.running(totalMs);
    pod.hasRun = true;
    if (!containerStatuses.every(hasStarted)) return;
    starting.delete(uid);
    const nowMs = clock.now();
    const foreign = [...pod.pulls, ...(status.initContainerStatuses ?? []).flatMap(spansOf)];
    const foreignMs = lengthOfUnion(foreign, { fromMs: nowMs - totalMs, toMs: nowMs });
    const ownMs = totalMs - foreignMs;
    observer.started({ totalMs, ownMs, hasNetwork: pod.hasNetwork });
    const times = { podStartSLOduration: ownMs / 1_000, podStartE2EDuration: formatGoDuration(totalMs) };
    const observedRunningTime = toV1Time(nowMs);
    const fields = { pod: ref, podUID: uid, ...times, ...pullsIn(pod.pulls), observedRunningTime };
    logger.info('Observed pod startup duration', fields, 2);
  };
  listen(podAdded, ({ uid, hasNetwork }) => {
    if (!isOurs(uid) || starting.has(uid)) return;
    const [oldest] = starting.keys();
    if (starting.size >= MAX_STARTING && oldest !== undefined) starting.delete(oldest);
    const sinceMs = clock.monotonicMs();
    starting.set(uid, { sinceMs, hasNetwork, pulls: [], wasPending: false, hasRun: false });
  });
  listen(imagePullEnded, ({ podUid, startedAtMs, durationMs }) => {
    const pulls = starting.get(podUid)?.pulls;
    if (pulls === undefined || pulls.length >= MAX_PULLS) return;
    pulls.push({ fromMs: startedAtMs, toMs: startedAtMs + durationMs });
  });
  listen(podStatusChanged, (change) => {
    if (change.type === 'resync') return;
    const { uid } = change.type === 'status' ? change.record.pod : change.pod;
    const pod = starting.get(uid);
    if (pod === undefined) return;
    if (change.type === 'removed') starting.delete(uid);
    else update(change.record.pod, change.record.status, pod);
  });
}

function hasStarted({ state, lastState }: V1ContainerStatus): boolean {
  return (state.running ?? state.terminated ?? lastState.terminated) !== undefined;
}

/** Absent where nothing had to be fetched. */
function pullsIn(pulls: readonly Span[]): Readonly<Record<string, string | undefined>> {
  if (pulls.length === 0) return {};
  return {
    firstStartedPulling: toV1Time(Math.min(...pulls.map(({ fromMs }) => fromMs))),
    lastFinishedPulling: toV1Time(Math.max(...pulls.map(({ toMs }) => toMs))),
  };
}

/** When an init container ran; one that still does, a sidecar, held up nobody. */
function spansOf({ state: { terminated } }: V1ContainerStatus): Span[] {
  const { startedAt = null, finishedAt = null } = terminated ?? {};
  if (startedAt === null || finishedAt === null) return [];
  const span = { fromMs: Date.parse(startedAt), toMs: Date.parse(finishedAt) };
  return Number.isFinite(span.toMs - span.fromMs) ? [span] : [];
}

/** For how much of `within` at least one of the spans lasted. */
function lengthOfUnion(spans: readonly Span[], within: Span): number {
  let coveredMs = 0;
  let untilMs = within.fromMs;
  for (const { fromMs, toMs } of [...spans].sort((a, b) => a.fromMs - b.fromMs)) {
    const endMs = Math.min(toMs, within.toMs);
    coveredMs += Math.max(0, endMs - Math.max(fromMs, untilMs));
    untilMs = Math.max(untilMs, endMs);
  }
  return coveredMs;
}
