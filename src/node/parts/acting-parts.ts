import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterObjects } from '#cluster';
import { PulledImages } from '../resources/gc/pulled-images.js';
import { recordPulls } from '../resources/gc/record-pulls.js';
import { ImageAccess } from '../images/image-access.js';
import { ImageManager } from '../images/image-manager.js';
import { CredentialProviders } from '../images/providers/credential-providers.js';
import { readProviderConfig } from '../images/providers/provider-config.js';
import { PullProgress, type RuntimePull } from '../images/pull-progress.js';
import { EMBEDDED_RUNTIME_NAME } from '#base/channels/embedded-runtime-name.js';
import { type PodObjects } from '#kube/objects/config-object.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { ProbeManager } from '../probes/probe-manager.js';
import { ProbeFiles } from '../probes/probe-memory.js';
import { type SecretHider } from '#kube/objects/secret-hider.js';
import { probeRunner } from '../probes/probe-runner.js';
import { observedTargets } from '../probes/probe-targets.js';
import { CriRuntimeChanges } from '../runtime/cri-runtime-changes.js';
import { PodPaths } from '#watch';
import { readFileKeys } from '../volumes/file-keys.js';
import { resolveEnvironment } from '../runtime/config/resolve-environment.js';
import { type LocalServices } from '../services/local-services.js';
import { PodIdRanges } from '../resources/users/pod-id-ranges.js';
import { readNodeIds } from '../resources/users/node-ids.js';
import { EndedPods } from '../status/ended-pods.js';
import { StartFailures } from '../status/start-failures.js';
import { type StatusManager } from '../status/status-manager.js';
import { PodAdoption } from '../pods/adoption/adopt-pods.js';
import { toRunDefinition } from '../pods/loop/asks-for-new-run.js';
import { ContainerResizes } from '../pods/containers/container-resizes.js';
import { type Rejection } from '../pods/loop/desired-pods.js';
import { rejectForbidden, sparingForbiddenPods } from '../pods/admission/forbidden-pods.js';
import { sparingForeignPods } from '../pods/admission/foreign-pods-watch.js';
import { ReplacedParts } from '../pods/actions/replaced-parts.js';
import { DEFAULT_RESTART_BACKOFF } from '../pods/actions/restart-backoff.js';
import { PodPlanner } from '../pods/sync/sync-pod-planner.js';
import { PodStatusUpdater } from '../pods/sync/sync-pod-status.js';
import { SyncPod } from '../pods/sync/sync-pod.js';
import { type PodUsers } from '../pods/sync/sync-pod-ports.js';
import { readPageSize } from '#base/proc/page-size.js';
import { ClaimMarks } from '../volumes/claim-marks.js';
import { LocalClaims } from '../volumes/claims/local-claims.js';
import { ProjectQuotas } from '../volumes/claims/project-quotas.js';
import { ToolMounter } from '../volumes/mounter.js';
import { buildVolumes } from './build-volumes.js';
import { computeDownwardFacts, type DownwardNode, findDiskBytes } from '../resources/facts/downward-facts.js';
import { hideInCommands, hideInProbes } from '../telemetry/reports/hide-secrets.js';
import { killsWholeContainer } from '../resources/cgroups/oom-kill-rule.js';
import { findMemoryQos } from '../resources/cgroups/memory-protection.js';
import { memoryUsageOf } from '../resources/facts/memory-usage.js';
import { type HostIps } from '../resources/facts/host-ips.js';
import { MACHINE_PERIOD_MS, NodeFactsWatch } from '../resources/facts/node-facts-watch.js';
import { AllocatableResources } from '../resources/facts/allocatable-resources.js';
import { openPullRecords } from './open-pull-records.js';
import { type PodEventLog } from '../telemetry/reports/pod-event-log.js';
import { type ClusterHooks } from '../cluster/cluster-hooks.js';
import { readSwapFacts } from '../resources/facts/swap-facts.js';
import { readKernelFacts } from '../resources/facts/read-capacity-facts.js';
import { readNodePolicy } from '../options/read-node-policy.js';
import { seedProbeResults } from '../telemetry/reports/seed-probe-results.js';
import { type Feedback } from './feedback.js';
import { type ObservingParts, type ObservingPartsOptions } from './observing-parts.js';

/** What {@link buildActingParts} needs. */
export interface ActingPartsOptions extends ObservingPartsOptions {
  /** The runtime's name for itself. */
  readonly runtimeName: string;
  readonly runtimeUrl: string;
  readonly hostIps: Pick<HostIps, 'refresh'>;
  readonly objects: PodObjects;
  readonly events: PodEventLog;
  /** The objects that pods of an API server refer to; undefined without a cluster. */
  readonly cluster: ClusterObjects | undefined;
  /** What an earlier agent has reported to an API server, and what the Node says is allocatable. */
  readonly link: Pick<ClusterHooks, 'findReported' | 'allocatable'> | undefined;
  /** Knows the values that may not appear in an event or in the log. */
  readonly secrets: SecretHider;
  readonly observing: ObservingParts;
  readonly manager: StatusManager;
  /** Of credential provider plugins (default: none). */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  readonly services: Pick<LocalServices, 'podDns' | 'variablesFor'>;
  readonly feedback: Pick<Feedback, 'resizeObstacle' | 'volumesReady'>;
}

/** How long tokens of service accounts are good that credential provider plugins get. */
const TOKEN_SECONDS = 3_600;

/** Only the runtime in the box has this call; it is loaded when a pull goes on for a while. */
async function listBoxPulls(endpoint: string, signal: AbortSignal): Promise<readonly RuntimePull[]> {
  const { ImageTransferClient } = await import('#box');
  using client = new ImageTransferClient(endpoint);
  return await client.listPulls(signal);
}

/** What to do where the runtime in the box has no user namespaces. */
const IN_THE_BOX =
  ': the runtime in the box gives containers the users of the node; run the pod on containerd 2 or CRI-O (--runtime-endpoint), or leave hostUsers out';

/** How many syncs in a row are left out for a pod in which nothing has changed. */
const SETTLED_SYNCS = 10;

/** The parts of an agent that act on one pod and store the results. */
export type ActingParts = Awaited<ReturnType<typeof buildActingParts>>;

/**
 * Builds the parts that act on one pod, up to syncPod. Reads what earlier agents stored about pulls, probes
 * and ends.
 */
export async function buildActingParts(given: ActingPartsOptions) {
  const { options, identity, client, runtimeName, runtimeUrl, objects, events, secrets, observing } = given;
  const { cluster, link, manager, feedback, services, channels, clock, logger } = given;
  const { environment = {} } = given;
  const { runtime, cache, adopted, isOurs, mountinfo, cgroups, security, runtimeState } = observing;
  const common = { channels, clock, logger };
  const changes = new CriRuntimeChanges({ client, ...common });
  const commands = hideInCommands(changes, secrets);
  const pulled = await PulledImages.open(join(options.rootDir, 'pulled-images.json'), clock);
  const pullRecords = await openPullRecords({ ...common, options, runtimeUrl });
  const access = new ImageAccess({
    ...{ records: pullRecords, channels, logger },
    rules: {
      policy: options.imagePullCredentialsVerificationPolicy,
      allowlist: options.preloadedImagesVerificationAllowlist,
    },
  });
  const pullProgress = new PullProgress({
    listPulls:
      runtimeName === EMBEDDED_RUNTIME_NAME ? async (signal) => listBoxPulls(runtimeUrl, signal) : undefined,
    show: (uid, container, message) => void manager.setCreatingMessage(uid, container, message),
    ...{ events, clock },
  });
  const credentialConfig = await readProviderConfig({
    config: options.imageCredentialProviderConfig,
    binDir: options.imageCredentialProviderBinDir,
    isInCluster: cluster !== undefined,
  });
  const providers = new CredentialProviders({
    providers: credentialConfig.providers,
    getToken:
      cluster &&
      (async (pod, audience) => cluster.getToken(pod, { audience, expirationSeconds: TOKEN_SECONDS })),
    getServiceAccount: cluster && (async (pod) => cluster.getServiceAccount(pod)),
    environment,
    ...common,
  });
  const images = new ImageManager({
    ...{ progress: pullProgress, providers },
    ...{ events, objects, channels, clock, access, pullsAtOnce: options.maxParallelImagePulls },
    changes: recordPulls({ changes, pulled, ...common }),
  });
  const findBaseline = (id: string): string | undefined => adopted.findBaseline(id);
  const paths = new PodPaths(options);
  const room = await AllocatableResources.open({
    read: async () => readKernelFacts(options, runtimeName),
    readStorage: async () => findDiskBytes(options.rootDir),
    ofNode: () => link?.allocatable(),
  });
  /** The node's part of the downward API. */
  const downwardNode = (): DownwardNode => {
    const capacity = room.current();
    const ephemeralStorageBytes = capacity.others.get('ephemeral-storage');
    return {
      ...{ name: identity.name, hostIps: identity.ips() },
      allocatable: {
        ...capacity,
        ...(ephemeralStorageBytes === undefined ? {} : { ephemeralStorageBytes }),
      },
    };
  };
  const policy = readNodePolicy(options);
  const canMountRecursivelyReadOnly = (pod: NodePod): boolean => {
    const handler = cluster === undefined ? pod.spec.runtimeClassName : cluster.findRuntimeHandler(pod);
    return security.canMountRecursivelyReadOnly(handler ?? '');
  };
  const mounter = new ToolMounter({ clock });
  const marks = new ClaimMarks(paths.podsDir);
  const claimsFolder = join(options.rootDir, 'claims');
  const localClaims = await LocalClaims.open({
    ...{ folder: claimsFolder, clock, logger },
    isUsed: async (path) => marks.isUsedByOther('', await realpath(path).catch(() => path)),
    sizes: new ProjectQuotas(),
  });
  const { volumes, claimUsages } = buildVolumes({
    ...{ mounter, statsPeriodMs: options.volumeStatsAggPeriodMs },
    ...{ ...common, policy, events, objects, podsFolder: paths.podsDir },
    memoryBytes: () => room.current().memoryBytes,
    downwardFacts: (pod) => computeDownwardFacts(pod, [], downwardNode()),
    onReady: (uid) => feedback.volumesReady.notify(uid),
    ...{ canMountRecursivelyReadOnly, localClaims, claimsFolder },
    ...(cluster && { cluster }),
  });
  const node = new NodeFactsWatch({
    ...common,
    nodeInstance: identity.instanceId,
    pageSizeBytes: await readPageSize(),
    resolvConf: options.resolvConf,
    isInCluster: options.kubeconfig !== '',
    clusterDns: options.clusterDns,
    clusterDomain: options.clusterDomain,
    podDns: () => services.podDns(),
    seccompDir: join(options.rootDir, 'seccomp'),
    seccompDefault: options.seccompDefault,
    strictGroups: () => security.strictGroups,
    oomKillsContainer: killsWholeContainer(options.singleProcessOomKill, mountinfo),
    swap: await readSwapFacts(options.swapBehavior === 'LimitedSwap', { mountinfo }),
    memoryQos: () => findMemoryQos(options, room.current().memoryBytes, mountinfo),
    cpuCfsQuota: options.cpuCfsQuota,
    cpuCfsQuotaPeriodMs: options.cpuCfsQuotaPeriodMs,
    others: [
      { name: 'addresses', read: async () => given.hostIps.refresh() },
      { name: 'resources', read: async () => room.refresh(), everyMs: MACHINE_PERIOD_MS },
      { name: 'size of the disk', read: async () => room.refreshStorage() },
    ],
    canMount: () => !runtimeState.conditions.some(({ type, status }) => type === 'Isolation' && !status),
  });
  const memory = await ProbeFiles.open({ folder: join(options.rootDir, 'probes'), logger });
  const adoption = new PodAdoption({
    ...{ ...common, adopted, runtime, isAdopting: options.adopt },
    onAdopted: (uid) => seedProbeResults(memory, uid, link?.findReported(uid)),
  });
  const probes = new ProbeManager({
    ...common,
    ...{ memory, targets: observedTargets(cache, () => identity.ips()[0] ?? '') },
    runProbe: hideInProbes(probeRunner({ clock, commands }), secrets),
  });
  const startFailures = new StartFailures();
  const endedPods = await EndedPods.open({ paths, logger });
  const idRanges = await PodIdRanges.open({
    ...{ paths, logger, idsPerPod: options.idsPerPod },
    readNodeIds: async () => readNodeIds(options.idsPerPod),
    findPresent: () =>
      [...cache.uids()]
        .flatMap((uid) => cache.getLastKnown(uid).sandboxes)
        .flatMap(({ idRange }) => idRange ?? []),
  });
  const users: PodUsers = {
    findProblem: (handler) => {
      const problem = security.findUserNamespaceProblem(handler);
      return problem !== undefined && runtimeName === EMBEDDED_RUNTIME_NAME
        ? `${problem}${IN_THE_BOX}`
        : problem;
    },
    take: async (uid, present) => idRanges.take(uid, present),
  };
  const resizes = new ContainerResizes({ node: () => node.facts() });
  const replaced = new ReplacedParts({ paths, logger });
  const statuses = new PodStatusUpdater({
    ...{ ...common, manager, startFailures, probes, paths, findBaseline, endedPods, resizes, replaced },
    canMountRecursivelyReadOnly,
    findHeldResize: (uid) => feedback.resizeObstacle.ask(uid),
    node: () => ({ hostIps: identity.ips(), runtimeName }),
  });
  const planner = new PodPlanner({
    ...{ clock, findBaseline, probes, resizes, replaced },
    backoff: { ...DEFAULT_RESTART_BACKOFF, maxMs: options.maxContainerRestartPeriodMs },
  });
  const hands = new SyncPod({
    ...common,
    ...{
      changes,
      commands,
      runtime,
      images,
      volumes,
      statuses,
      startFailures,
      planner,
      events,
      paths,
      cgroups,
      runtimeName,
    },
    environments: {
      resolve: async (pod, container, ips, signal) => {
        const facts = computeDownwardFacts(pod, ips, downwardNode());
        return resolveEnvironment(pod, container, {
          ...{
            objects,
            facts,
            services: cluster === undefined ? services.variablesFor(pod) : cluster.serviceVariables(pod),
            fileKeys: await readFileKeys(
              pod,
              container,
              { hostPathOf: (each, volume) => volumes.hostPathOf(each, volume), logger },
              signal,
            ),
          },
        });
      },
    },
    probes: {
      addPod: (pod) => probes.addPod(pod),
      stopLivenessAndStartup: (pod) => probes.stopLivenessAndStartup(pod.metadata.uid),
      removePod: (pod) => probes.removePod(pod.metadata.uid),
    },
    referents: cluster,
    baselines: adopted,
    podLimits: cgroups,
    users,
    resizes,
    replaced,
    memoryUsage: memoryUsageOf(client),
    networkProblem: () => runtimeState.networkErrors()[0],
    settledForMs: SETTLED_SYNCS * options.syncFrequencyMs,
    containerLogLinksDir: options.containerLogLinksDir === '' ? undefined : options.containerLogLinksDir,
    node: () => node.facts(),
  });
  const findForbidden = (pod: NodePod): Rejection | undefined => rejectForbidden(pod, policy);
  const syncer = sparingForeignPods(
    // An ended pod is only read.
    sparingForbiddenPods(hands, (pod) => {
      const forbidden = findForbidden(pod);
      if (forbidden === undefined) return undefined;
      return endedPods.find(pod.metadata.uid)?.definition === toRunDefinition(pod) ? undefined : forbidden;
    }),
    isOurs,
  );
  return {
    ...{
      changes,
      pulled,
      pullRecords,
      pullProgress,
      credentialConfig,
      adoption,
      paths,
      room,
      mounter,
      localClaims,
      volumes,
      claimUsages,
      node,
      memory,
      probes,
    },
    ...{ statuses, endedPods, idRanges, findForbidden, syncer },
  };
}
