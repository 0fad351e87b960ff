import { type Channels } from '#base/channels/publishing-channel.js';
import type { ClusterObjects } from '#cluster';
import { type DebugContainers } from '../desired/debug-containers.js';
import { type StoppedPods } from '../desired/stopped-pods.js';
import {
  type CriClient,
  emptyPodStatus,
  isFirstRelistPending,
  type ObservedPod,
  type PodStatus,
} from '#watch';
import { manifestUidOf } from '#kube/pod/node-pod.js';
import { POD_FORBIDDEN } from '#kube/node/node-policy.js';
import { type SecretHider } from '#kube/objects/secret-hider.js';
import { isClusterPod } from '#kube/pod/static-pod.js';
import { AdoptedPodsCleaner } from '../pods/adoption/adopted-pods-cleaner.js';
import { admitPod, findResizeObstacle, findShortages } from '../pods/admission/admit-pod.js';
import { admitSecurity, type SecurityFeatures } from '../pods/admission/admit-security.js';
import { toRunDefinition } from '../pods/loop/asks-for-new-run.js';
import { type DesiredPods } from '../pods/loop/desired-pods.js';
import { ForeignPodsWatch } from '../pods/admission/foreign-pods-watch.js';
import { isRunning } from '../pods/loop/housekeeping-owner.js';
import { Housekeeping, type PodCleaner } from '../pods/loop/housekeeping.js';
import { readPodParts } from '../pods/loop/read-pod-parts.js';
import { PodHandlers } from '../pods/loop/pod-handlers.js';
import { SyncLoop } from '../pods/loop/sync-loop.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { PodWorkers } from '../pods/workers/pod-workers.js';
import { type AgentOptions } from '../options/agent-options.js';
import { type ClusterHooks } from '../cluster/cluster-hooks.js';
import { buildCleaners } from './build-cleaners.js';
import { buildCollectors } from './collectors.js';
import { desiredImagesOf } from '../images/desired-images.js';
import { type LogindPort } from '../resources/shutdown/logind.js';
import { buildNodeShutdown } from '../resources/shutdown/build-node-shutdown.js';
import { buildStorage } from '../resources/eviction/pods/build-storage.js';
import { PodEvictor } from '../resources/eviction/pods/pod-evictor.js';
import { type PodEventLog } from '../telemetry/reports/pod-event-log.js';
import { type StatusManager } from '../status/status-manager.js';
import { type Feedback } from './feedback.js';
import { type PodSources } from './pod-sources.js';
import { type ActingParts } from './acting-parts.js';
import { type ObservingParts } from './observing-parts.js';
import { SecretsCleaner } from './secrets-cleaner.js';

/** What {@link buildDecidingParts} needs. */
export interface DecidingPartsOptions {
  readonly options: AgentOptions;
  readonly client: CriClient;
  readonly events: PodEventLog;
  readonly sources: PodSources;
  readonly stopped: StoppedPods;
  readonly debugged: Pick<DebugContainers, 'forget'>;
  readonly observing: ObservingParts;
  readonly acting: ActingParts;
  /** The objects that pods of an API server refer to. */
  readonly cluster: Pick<ClusterObjects, 'keepOnly'> | undefined;
  /** Knows the values that nobody may read. */
  readonly secrets: Pick<SecretHider, 'namespaces' | 'forgetNamespace'>;
  /** Decides which pods of an API server may run here, and reports how they end. */
  readonly link:
    | Pick<
        ClusterHooks,
        'admit' | 'isNodeOfKubeletHere' | 'podEndChanged' | 'shutdownChanged' | 'recordEvent'
      >
    | undefined;
  readonly logind: LogindPort | undefined;
  readonly desired: DesiredPods;
  readonly manager: StatusManager;
  readonly feedback: Feedback;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The reason of pods that wait until others have ended and freed what they need. */
const WAITING_FOR_ROOM = 'WaitingForRoom';

/** Builds the parts of an agent that decide what is done to which pod and when, and what is cleaned up. */
export function buildDecidingParts(given: DecidingPartsOptions) {
  const {
    options,
    client,
    events,
    sources,
    stopped,
    debugged,
    observing,
    acting,
    cluster,
    link,
    desired,
    manager,
    feedback,
    channels,
    clock,
    logger,
  } = given;
  const { runtime, cache, pleg, isOurs, cgroups, security, runtimeState } = observing;
  const { changes, pulled, pullRecords, adoption, paths, room, volumes, probes, statuses } = acting;
  const { endedPods, findForbidden, syncer } = acting;
  const common = { channels, clock, logger };

  const findObserved = (uid: string): ObservedPod | undefined => pleg.findObserved(uid);
  const lookAt = async (uid: string, signal: AbortSignal): Promise<PodStatus> =>
    await readPodParts(uid, { runtime, clock }, signal);
  const workers = new PodWorkers({
    ...common,
    ...{ cache, syncer, resyncIntervalMs: options.syncFrequencyMs },
    readPodParts: lookAt,
    findDeadlineMs: (pod) => statuses.findDeadlineMs(pod),
    requestRelist: (uid) => pleg.requestRelist(uid),
    onTerminatedChanged: (uid) => {
      feedback.podEndChanged.notify(uid);
      link?.podEndChanged(uid);
    },
    onFinished: (uid) => feedback.podFinished.notify(uid),
    onRestartable: () => feedback.housekeepSoon.notify(),
  });
  feedback.volumesReady.subscribe((uid) => workers.retry(uid));
  feedback.podFinished.subscribe((uid) => {
    link?.podEndChanged(uid);
    const pod = desired.find(uid);
    void stopped.setOver(manifestUidOf(pod?.metadata ?? { uid }));
    feedback.housekeepSoon.notify();
    // Its manifest was edited while no agent ran, or as it ended: handled like any edit of an ended pod.
    const ended = endedPods.find(uid);
    if (pod === undefined || ended === undefined || isClusterPod(pod)) return;
    if (ended.definition !== toRunDefinition(pod)) {
      workers.updatePod({ type: 'create', pod });
    }
  });
  let isNothingWanted = false;
  const seenAllSources = (): boolean => isNothingWanted || sources.config.seenAllSources();
  /** From now on, pods are ended even if a source that was not read yet wants them. */
  const beginDrain = (): void => void (isNothingWanted = true);
  const closing = new AbortController();
  /** Ignores rejections that only come from the end of the agent. */
  const ignoreEnd = (work: Promise<unknown>): void => {
    work.catch((error: unknown) => {
      if (!closing.signal.aborted) logger.error('Dead containers are not removed', error);
    });
  };
  const collectors = buildCollectors({
    ...{ options, client, runtime, changes, pulled, pullRecords, volumes, paths, pods: cache },
    ...{ ...common, isOurs },
    mayRemove: (uid) => seenAllSources() && !desired.has(uid) && workers.shouldPodContentBeRemoved(uid),
    hasSeenPods: () => pleg.health().healthy,
    // Without a cluster the log has it already.
    onNodeEvent: (event) => link?.recordEvent(event),
    desiredImages: () => desiredImagesOf(desired.all(), (uid) => workers.isFinished(uid)),
  });
  const evictor = new PodEvictor({ workers, events, channels });
  const storage = buildStorage({
    ...{ ...common, options, client, cache, paths, volumes, evictor, ending: closing.signal },
    pods: () => desired.all(),
  });
  const shutdown = buildNodeShutdown({
    ...{ options, logind: given.logind, workers, desired, link, clock, logger },
    onAfterAll: () => feedback.judgeSoon.notify(),
  });
  const foreign = new ForeignPodsWatch({
    ...{ logger, cache, desired, isOurs },
    onFree: (pod) => feedback.podFree.notify(pod),
  });
  const forgetDebugging = (uid: string): void =>
    debugged.forget(manifestUidOf(desired.find(uid)?.metadata ?? { uid }));
  const forgetEnd = (uid: string): void => {
    endedPods.forget(uid);
    feedback.podEndChanged.notify(uid);
  };
  const forgetLife = (uid: string): void => {
    forgetEnd(uid);
    manager.forget(uid);
    forgetDebugging(uid);
  };
  feedback.podReleased.subscribe((uid) => {
    forgetDebugging(uid);
    if (!workers.isKnown(uid)) forgetLife(uid);
  });
  const cleaners: PodCleaner[] = [
    ...buildCleaners({ probes, stopped, workers, manager, endedPods, cluster, forgetEnd }),
    new SecretsCleaner({
      ...{ secrets: given.secrets, manifests: sources.config.objects, clock },
      findPod: (uid) => desired.find(uid) ?? manager.findPod(uid),
    }),
    collectors.containers,
    collectors.folders,
    acting.idRanges,
    cgroups,
    foreign,
    new AdoptedPodsCleaner({
      ...{ adoption, cache, desired, workers, seenAllSources, adopted: observing.adopted, logger },
      isNodeOfKubeletHere: () => link?.isNodeOfKubeletHere(),
      isNothingWanted: () => isNothingWanted,
    }),
  ];
  const housekeeping = new Housekeeping({
    ...common,
    ...{ desired, workers, cache, cleaners, isOurs, listed: { find: findObserved, lookAt } },
    clearRemains: (uid) => {
      const view = { mayRemove: (each: string) => each === uid };
      ignoreEnd(collectors.containers.cleanUp(view, closing.signal));
    },
    onRemainsSeen: () => feedback.housekeepSoon.notify(),
    isBeingRemoved: (uid) => collectors.folders.isRemoving(uid),
    onStartAnew: (uid) => forgetLife(uid),
    readmit: (pod) => feedback.readmit.ask(pod),
  });
  const securityFeatures = (): SecurityFeatures => ({
    allowedUnsafeSysctls: options.allowedUnsafeSysctls,
    appArmor: security.appArmor,
    strictGroups: security.strictGroups,
  });
  const handlers = new PodHandlers({
    ...{ channels, logger, desired, workers, housekeeping, seenAllSources, findObserved },
    ...{ findObstacle: (pod) => foreign.findObstacle(pod), findForbidden },
    findEnd: (uid) => endedPods.find(uid),
    admit: (pod, active) => {
      const rejection = shutdown.rejection() ?? link?.admit(pod);
      if (rejection !== undefined) return { admit: false, ...rejection };
      return admitSecurity(pod, securityFeatures()) ?? admitPod(pod, active, room.current());
    },
    findShortages: (pod, active) => findShortages(pod, active, room.current()),
    onWaiting: (pod, { message, isGated = false }, isNews) => {
      const { uid } = pod.metadata;
      const isTornDown = housekeeping.isTornDown(uid);
      if (isGated) {
        if (isTornDown) forgetLife(uid);
        statuses.showGated(pod);
        return;
      }
      if (isNews) events.record(pod.metadata, { type: 'Warning', reason: WAITING_FOR_ROOM, message });
      // Its status is of a former life, and so is what the runtime has of it.
      if (isTornDown) forgetLife(uid);
      statuses.showWaiting(pod, isTornDown ? emptyPodStatus(uid) : cache.getLastKnown(uid), message);
    },
    isPastDeadline: (pod) => statuses.isPastDeadline(pod),
    onWaitGivenUp: ({ metadata }) => statuses.renew(metadata.uid),
    onPreempted: ({ metadata }, end) => events.record(metadata, { type: 'Warning', ...end }),
    findResizeObstacle: (before, after, active) => findResizeObstacle(before, after, active, room.current()),
    onResizeHeld: ({ metadata }, { reason, message }) => {
      const kind = reason === 'Infeasible' ? 'ResizeInfeasible' : 'ResizeDeferred';
      events.record(metadata, {
        type: 'Warning',
        reason: kind,
        message: `Pod resize ${reason}: ${message}`,
      });
    },
    onRejectionLifted: ({ metadata }) => manager.forget(metadata.uid),
    onRejected: (pod, { reason, message }, isEnded) => {
      const { uid } = pod.metadata;
      const end = { phase: 'Failed', reason, message } as const;
      events.record(pod.metadata, { type: 'Warning', reason, message });
      if (isEnded) return;
      // Its status is of a former life, or from before an edit.
      if (housekeeping.isTornDown(uid) || reason === POD_FORBIDDEN) forgetLife(uid);
      statuses.showRejection(pod, end);
    },
  });
  feedback.podEndChanged.subscribe((uid) => handlers.podEndChanged(uid));
  feedback.podFree.subscribe((pod) => {
    manager.forget(pod.metadata.uid);
    handlers.handlePodUpdates([pod]);
  });
  feedback.resizeObstacle.answerWith((uid) => handlers.resizeObstacle(uid));
  feedback.podRemains.answerWith((uid) => {
    const observed = findObserved(uid);
    const isWorkedOn = workers.isKnown(uid) && !workers.isFinished(uid);
    const runs = observed !== undefined && isRunning(observed);
    return {
      isEnded: endedPods.isKept(uid),
      isGone: !isFirstRelistPending(pleg.health()) && !desired.has(uid) && !isWorkedOn && !runs,
    };
  });
  feedback.readmit.answerWith((pod) => handlers.readmit(pod));
  const loop = new SyncLoop({
    ...common,
    ...{ handlers, desired, workers, cache, findObserved, runtimeState, seenAllSources, readiness: manager },
    updates: (signal) => adoption.updates(sources.config.updates(signal), signal),
    events: pleg.subscribe(),
    probeResults: probes.subscribe(),
    deadContainers: {
      deleteContainersBeyondNewest: ({ status, exitedContainerId }) => {
        ignoreEnd(collectors.containers.containerDied(status.uid, exitedContainerId, closing.signal));
      },
    },
  });
  feedback.syncSoon.subscribe((uids) => loop.syncSoon(uids));
  feedback.housekeepSoon.subscribe(() => loop.housekeepSoon());
  room.onChange(() => handlers.judgeRejected());
  feedback.judgeSoon.subscribe(() => handlers.judgeRejected());
  runtimeState.onAnswer(() => loop.recoverSoon());
  pleg.onLook(() => loop.recoverSoon());
  return {
    ...{ shutdown, workers, collectors, evictor, housekeeping, handlers, loop, closing },
    ...storage,
    ...{ seenAllSources, beginDrain, forgetLife },
  };
}
