import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { type Readable } from 'node:stream';
import { isConcerned } from '../config/config-objects.js';
import { type ManifestParser } from '../config/parse-manifest.js';
import { StoppedPods } from '../config/stopped-pods.js';
import { type CriClient } from '../cri/index.js';
import { PulledImages } from '../gc/pulled-images.js';
import { recordPulls } from '../gc/record-pulls.js';
import { ImageManager } from '../images/image-manager.js';
import { type PodObjects } from '../model/config-object.js';
import { type NodePod } from '../model/node-pod.js';
import { POD_FORBIDDEN } from '../model/node-policy.js';
import { type PodSpec } from '../model/pod.js';
import { Pleg } from '../pleg/index.js';
import { PodCache } from '../pleg/pod-cache.js';
import { ProbeManager } from '../probes/probe-manager.js';
import { ProbeFiles } from '../probes/probe-memory.js';
import { probeRunner } from '../probes/probe-runner.js';
import { observedTargets } from '../probes/probe-targets.js';
import { CriRuntimeChanges } from '../runtime/cri-runtime-changes.js';
import { CriRuntime } from '../runtime/index.js';
import { ownedBy } from '../runtime/ownership.js';
import { PodPaths } from '../runtime/pod-paths.js';
import { resolveEnvironment } from '../runtime/resolve-environment.js';
import { emptyPodStatus, type PodStatus } from '../runtime/runtime.js';
import { EndedPods } from '../status/ended-pods.js';
import { StartFailures } from '../status/start-failures.js';
import { StatusManager } from '../status/status-manager.js';
import { admitPod } from '../sync/admit-pod.js';
import { admitSecurity, type SecurityFeatures } from '../sync/admit-security.js';
import { PodAdoption } from '../sync/adopt-pods.js';
import { AdoptedPods } from '../sync/adopted-pods.js';
import { toRunDefinition } from '../sync/asks-for-new-run.js';
import { ContainerResizes } from '../sync/container-resizes.js';
import { DesiredPods, type Rejection } from '../sync/desired-pods.js';
import { rejectForbidden, sparingForbiddenPods } from '../sync/forbidden-pods.js';
import { ForeignPodsWatch, sparingForeignPods } from '../sync/foreign-pods-watch.js';
import { isOwnPod } from '../sync/housekeeping-owner.js';
import { Housekeeping, type PodCleaner } from '../sync/housekeeping.js';
import { DEFAULT_RESTART_BACKOFF } from '../sync/restart-backoff.js';
import { RuntimeState } from '../sync/runtime-state.js';
import { PodHandlers } from '../sync/sync-loop-handlers.js';
import { SyncLoop } from '../sync/sync-loop.js';
import { PodPlanner } from '../sync/sync-pod-planner.js';
import { PodStatusUpdater } from '../sync/sync-pod-status.js';
import { SyncPod } from '../sync/sync-pod.js';
import { type Clock } from '../util/clock.js';
import { type Logger } from '../util/logger.js';
import { readPageSize } from '../util/page-size.js';
import { readOwnMountinfo } from '../util/mountinfo.js';
import { PodWorkers } from '../workers/pod-workers.js';
import { type AgentOptions } from './agent-options.js';
import { buildPodCgroups } from './cgroups/build-pod-cgroups.js';
import { buildVolumeLimits, buildVolumes } from './build-volumes.js';
import { buildCollectors } from './collectors.js';
import { computeDownwardFacts, type DownwardNode, findDiskBytes } from './downward-facts.js';
import { memoryUsageOf } from './memory-usage.js';
import { computeCapacity } from './node-capacity.js';
import { NodeFactsWatch } from './node-facts-watch.js';
import { type NodeIdentity } from './node-identity.js';
import { PodEventLog } from './pod-event-log.js';
import { PodSources } from './pod-sources.js';
import { readNodePolicy } from './read-node-policy.js';
import { SecurityFacts } from './security-facts.js';

const FIRST_STATUS_MS = 5_000;

/** What {@link buildAgentParts} needs. */
export interface AgentPartsOptions {
  readonly options: AgentOptions;
  readonly identity: NodeIdentity;
  readonly client: CriClient;
  /** As the runtime calls itself. */
  readonly runtimeName: string;
  readonly stdin: Readable;
  readonly manifestParser: ManifestParser | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The parts of a node agent, wired to one another; none of them runs yet. */
export type AgentParts = Awaited<ReturnType<typeof buildAgentParts>>;

/** Makes the parts in the order in which data flows. Reads what earlier agents have left in the root folder. */
export async function buildAgentParts(given: AgentPartsOptions) {
  const { options, identity, client, runtimeName, stdin, manifestParser: parser, clock, logger } = given;
  const common = { clock, logger };
  const events = new PodEventLog(common);
  const stopped = await StoppedPods.open({
    ...{ logger, file: join(options.rootDir, 'stopped-pods.json') },
    onChanged: () => sources.config.refresh(),
    onReleased: (uid) => {
      if (!workers.isKnown(uid)) forgetLife(uid);
    },
  });
  const sources = new PodSources({
    ...{ options, nodeName: identity.name, stdin, parser, stopped, ...common },
    onObjectsChanged: (change) => {
      const concerned = [...desired.all()].filter((pod) => isConcerned(pod, change));
      loop.syncSoon(concerned.map(({ metadata }) => metadata.uid));
    },
  });
  /** ConfigMaps and Secrets of the manifests, as pods find them. */
  const objects: PodObjects = sources.config.objects;

  // What is observed.
  const runtime = new CriRuntime({ client, ...common });
  const cache = new PodCache();
  const pleg = new Pleg({ runtime, cache, mode: options.mode, ...common });
  const adopted = await AdoptedPods.open(join(options.rootDir, 'adopted-pods.json'));
  const isOurs = ownedBy(identity.instanceId, (uid) => adopted.has(uid));
  /** Pods of which the runtime shows something, all of it ours. */
  const ownUids = (): string[] => [...cache.uids()].filter((uid) => isOwnPod(cache.get(uid).status, isOurs));
  const { cgroupDriver, cgroups } = buildPodCgroups({
    ...{ ...common, options, client, instanceId: identity.instanceId },
    mountinfo: await readOwnMountinfo().catch(() => ''),
    ownUids,
  });
  const security = await SecurityFacts.read();
  // Before pods are admitted by it. A runtime that is just away tells it with its first status.
  await client.status({}, { timeoutMs: FIRST_STATUS_MS }).then(
    (response) => security.take(response),
    () => undefined,
  );
  const runtimeState = new RuntimeState({
    ...common,
    getConditions: cgroupDriver.after(async (signal) => {
      const response = await client.status({}, { signal });
      security.take(response);
      return response.status?.conditions ?? [];
    }),
    healthChecks: [{ name: 'PLEG', findProblem: () => pleg.health().message }],
  });

  // What is done.
  const changes = new CriRuntimeChanges({ client, ...common });
  const pulled = await PulledImages.open(join(options.rootDir, 'pulled-images.json'));
  const images = new ImageManager({
    ...{ events, objects, clock, pullsAtOnce: options.maxParallelImagePulls },
    changes: recordPulls({ changes, pulled, ...common }),
  });
  const findBaseline = (id: string): string | undefined => adopted.findBaseline(id);
  const adoption = new PodAdoption({ ...common, ...{ adopted, runtime, isAdopting: options.adopt } });
  const paths = new PodPaths(options);
  const capacity = computeCapacity({
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    maxPods: options.maxPods,
    podsPerCore: options.podsPerCore,
    reserved: [options.systemReserved, options.kubeReserved],
  });
  const hostIps = identity.ip === '' ? [] : [identity.ip];
  const ephemeralStorageBytes = await findDiskBytes(options.rootDir);
  /** What the downward API tells of the node. */
  const downwardNode: DownwardNode = {
    ...{ name: identity.name, hostIps },
    allocatable: {
      ...capacity,
      ...(ephemeralStorageBytes === undefined ? {} : { ephemeralStorageBytes }),
    },
  };
  const policy = readNodePolicy(options);
  const volumes = buildVolumes({
    ...{ ...common, policy, events, objects, podsFolder: paths.podsDir, memoryBytes: capacity.memoryBytes },
    downwardFacts: (pod) => computeDownwardFacts(pod, [], downwardNode),
    onReady: (uid) => workers.retry(uid),
    canMountRecursivelyReadOnly: (handler) => security.canMountRecursivelyReadOnly(handler),
  });
  const node = new NodeFactsWatch({
    ...common,
    nodeInstance: identity.instanceId,
    pageSizeBytes: await readPageSize(),
    resolvConf: options.resolvConf,
    clusterDns: options.clusterDns,
    clusterDomain: options.clusterDomain,
    seccompDir: join(options.rootDir, 'seccomp'),
    seccompDefault: options.seccompDefault,
    strictGroups: () => security.strictGroups,
    cpuCfsQuota: options.cpuCfsQuota,
    cpuCfsQuotaPeriodMs: options.cpuCfsQuotaPeriodMs,
    canMount: () => !runtimeState.conditions.some(({ type, status }) => type === 'Isolation' && !status),
  });
  const memory = await ProbeFiles.open({ folder: join(options.rootDir, 'probes'), logger });
  const probes = new ProbeManager({
    ...common,
    ...{ memory, targets: observedTargets(cache, identity.ip) },
    runProbe: probeRunner({ clock, commands: changes }),
  });
  const manager = new StatusManager(common);
  const startFailures = new StartFailures();
  const endedPods = await EndedPods.open({ paths, logger });
  const resizes = new ContainerResizes({ node: () => node.facts() });
  const statuses = new PodStatusUpdater({
    ...{ manager, startFailures, probes, paths, clock, findBaseline, endedPods, resizes },
    node: () => ({ hostIps, runtimeName }),
  });
  const planner = new PodPlanner({
    ...{ clock, findBaseline, probes, resizes },
    backoff: { ...DEFAULT_RESTART_BACKOFF, maxMs: options.maxContainerRestartPeriodMs },
  });
  const hands = new SyncPod({
    ...common,
    ...{ changes, runtime, images, volumes, statuses, startFailures, planner, events, paths, cgroups },
    environments: {
      resolve: (pod, container, ips) => {
        const facts = computeDownwardFacts(pod, ips, downwardNode);
        return resolveEnvironment(pod, container, { objects, facts });
      },
    },
    probes: {
      addPod: (pod) => probes.addPod(pod),
      stopLivenessAndStartup: (pod) => probes.stopLivenessAndStartup(pod.metadata.uid),
      removePod: (pod) => probes.removePod(pod.metadata.uid),
    },
    baselines: adopted,
    podLimits: cgroups,
    resizes,
    memoryUsage: memoryUsageOf(client),
    networkProblem: () => runtimeState.networkErrors()[0],
    containerLogLinksDir: options.containerLogLinksDir === '' ? undefined : options.containerLogLinksDir,
    node: () => node.facts(),
  });
  const findForbidden = (pod: NodePod): Rejection | undefined => rejectForbidden(pod, policy);
  const syncer = sparingForeignPods(
    // What has ended is only looked at.
    sparingForbiddenPods(hands, (pod) =>
      endedPods.find(pod.metadata.uid)?.definition === toRunDefinition(pod) ? undefined : findForbidden(pod),
    ),
    isOurs,
  );

  // What decides.
  const desired = new DesiredPods();
  const workers = new PodWorkers({
    ...common,
    ...{ cache, syncer, resyncIntervalMs: options.syncFrequencyMs },
    requestRelist: (uid) => pleg.requestRelist(uid),
    onTerminatedChanged: (uid) => handlers.podEndChanged(uid),
    onFinished: (uid) => {
      void stopped.setOver(uid);
      loop.housekeepSoon();
      // Its manifest was edited while no agent ran, or as it ended: as for any edit of a pod that has ended.
      const pod = desired.find(uid);
      const ended = endedPods.find(uid);
      if (pod !== undefined && ended !== undefined && ended.definition !== toRunDefinition(pod)) {
        workers.updatePod({ type: 'create', pod });
      }
    },
    onRestartable: () => loop.housekeepSoon(),
  });
  let isNothingWanted = false;
  const seenAllSources = (): boolean => isNothingWanted || sources.config.seenAllSources();
  /** From now on pods are ended whatever a source that was not seen yet may want. */
  const wantNothing = (): void => void (isNothingWanted = true);
  const closing = new AbortController();
  /** Of work that rejects only because everything ends. */
  const ignoreEnd = (work: Promise<void>): void => {
    work.catch((error: unknown) => {
      if (!closing.signal.aborted) logger.error('Dead containers are not removed', error);
    });
  };
  const collectors = buildCollectors({
    ...{ options, client, runtime, changes, pulled, volumes, paths, pods: cache },
    ...{ ...common, isOurs },
    mayRemove: (uid) => seenAllSources() && !desired.has(uid) && workers.shouldPodContentBeRemoved(uid),
    hasSeenPods: () => pleg.health().healthy,
    desiredImages: () => [...desired.all()].flatMap(({ spec }) => imagesOf(spec)),
  });
  const volumeLimits = buildVolumeLimits({
    ...{ ...common, volumes, workers, events, pods: () => desired.all() },
  });
  const foreign = new ForeignPodsWatch({
    ...{ logger, cache, desired, isOurs },
    onFree: (pod) => {
      manager.forget(pod.metadata.uid);
      handlers.handlePodUpdates([pod]);
    },
  });
  const forgetEnd = (uid: string): void => {
    endedPods.forget(uid);
    handlers.podEndChanged(uid);
  };
  const forgetLife = (uid: string): void => {
    forgetEnd(uid);
    manager.forget(uid);
  };
  const cleaners: PodCleaner[] = [
    {
      name: 'probes',
      cleanUp: ({ desiredUids, possiblyRunningUids }) =>
        probes.cleanUp(new Set([...desiredUids, ...possiblyRunningUids])),
    },
    {
      // What had ended before it was stopped ends no second time.
      name: 'stopped pods',
      cleanUp: async () => {
        for (const { uid } of stopped.list()) if (workers.isFinished(uid)) await stopped.setOver(uid);
      },
    },
    {
      name: 'statuses',
      cleanUp: ({ desiredUids, possiblyRunningUids }) => {
        const known = new Set([...desiredUids, ...possiblyRunningUids]);
        manager.removeOrphanedStatuses(known);
        for (const uid of endedPods.uids()) if (!known.has(uid)) forgetEnd(uid);
      },
    },
    collectors.containers,
    collectors.folders,
    cgroups,
    foreign,
    {
      name: 'adopted pods',
      cleanUp: async (view) =>
        adoption.forgetGone((uid) => view.mayRemove(uid) && isEmptyPod(cache.get(uid).status)),
    },
  ];
  const housekeeping = new Housekeeping({
    ...common,
    ...{ desired, workers, cache, cleaners, isOurs },
    clearRemains: (uid) => {
      const view = { mayRemove: (each: string) => each === uid };
      ignoreEnd(collectors.containers.cleanUp(view, closing.signal));
    },
    onStartAnew: (uid) => forgetLife(uid),
    admitAnew: (pod): boolean => handlers.admitAnew(pod),
  });
  const securityFeatures = (): SecurityFeatures => ({
    allowedUnsafeSysctls: options.allowedUnsafeSysctls,
    appArmor: security.appArmor,
    strictGroups: security.strictGroups,
  });
  const handlers = new PodHandlers({
    ...{ logger, desired, workers, cache, housekeeping, seenAllSources },
    ...{ findObstacle: (pod) => foreign.findObstacle(pod), findForbidden },
    findEnd: (uid) => endedPods.find(uid),
    admit: (pod, active) => admitSecurity(pod, securityFeatures()) ?? admitPod(pod, active, capacity),
    onRejectionLifted: ({ metadata }) => manager.forget(metadata.uid),
    onRejected: (pod, { reason, message }, isEnded) => {
      const { uid } = pod.metadata;
      const end = { phase: 'Failed', reason, message } as const;
      events.record(pod.metadata, { type: 'Warning', reason, message });
      if (isEnded) return;
      // What it shows is of a former life, or what it was before an edit.
      if (housekeeping.isTornDown(uid) || reason === POD_FORBIDDEN) forgetLife(uid);
      void statuses.update(pod, emptyPodStatus(pod.metadata.uid), 'terminated', end);
    },
  });
  const loop = new SyncLoop({
    ...common,
    ...{ handlers, desired, workers, cache, runtimeState, seenAllSources, readiness: manager },
    updates: (signal) => adoption.updates(sources.config.updates(signal), signal),
    events: pleg.subscribe(),
    probeResults: probes.subscribe(),
    deadContainers: {
      deleteContainersBeyondNewest: ({ status, exitedContainerId }) => {
        ignoreEnd(collectors.containers.containerDied(status.uid, exitedContainerId, closing.signal));
      },
    },
  });
  return {
    ...{
      events,
      sources,
      stopped,
      objects,
      runtime,
      cache,
      pleg,
      runtimeState,
      changes,
      cgroups,
      node,
      memory,
      probes,
      manager,
      volumes,
      volumeLimits,
    },
    ...{
      desired,
      workers,
      collectors,
      housekeeping,
      handlers,
      loop,
      closing,
      paths,
      seenAllSources,
      wantNothing,
      ownUids,
    },
  };
}

function isEmptyPod({ sandboxes, containers }: PodStatus): boolean {
  return sandboxes.length + containers.length === 0;
}

function imagesOf({ initContainers = [], containers, ephemeralContainers = [] }: PodSpec): string[] {
  return [...initContainers, ...containers, ...ephemeralContainers].map(({ image }) => image);
}
