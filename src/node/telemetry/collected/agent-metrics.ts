import { type Channels } from '#base/channels/publishing-channel.js';
import { type CriClient, EventLoopDelay } from '#watch';
import { addAdmissionMetrics } from '../metrics/admission-metrics.js';
import { addCertificateMetrics, addNodeCertificateMetrics } from '../metrics/certificate-metrics.js';
import { addClusterNodeMetrics } from '../metrics/cluster-node-metrics.js';
import { addClusterPartsMetrics, type ReadClusterParts } from '../metrics/cluster-parts-metrics.js';
import { addConfigMetrics } from '../metrics/config-metrics.js';
import { addContainerEndMetrics } from '../metrics/container-end-metrics.js';
import { addDelegatedAuthMetrics, type ReadDelegatedAuth } from '../metrics/delegated-auth-metrics.js';
import { addEventGeneratorMetrics } from '../metrics/event-generator-metrics.js';
import { addEventLoopMetrics } from '../metrics/event-loop-metrics.js';
import { addHttpServerMetrics } from '../metrics/http-server-metrics.js';
import { addImageMetrics } from '../metrics/image-metrics.js';
import { addJournalMetrics, type JournalStats } from '../metrics/journal-metrics.js';
import { addKubeClientMetrics } from '../metrics/kube-client-metrics.js';
import { addLogMetrics, type LogState } from '../metrics/log-metrics.js';
import { MetricsRegistry } from '../registry/metrics-registry.js';
import { addMemoryProtectionMetrics, addNodeMetrics, addShutdownMetrics } from '../metrics/node-metrics.js';
import { addPodCountMetrics } from '../metrics/pod-count-metrics.js';
import { addPodStartMetrics } from '../metrics/pod-start-metrics.js';
import { addPodWorkerMetrics } from '../metrics/pod-worker-metrics.js';
import { addProbeMetrics, addProbeStats } from '../metrics/probe-metrics.js';
import { addProcessMetrics, addProcessStartTime, readProcessFacts } from '../metrics/process-metrics.js';
import { addRelistMetrics } from '../metrics/relist-metrics.js';
import { addRuntimeOperationMetrics } from '../metrics/runtime-operation-metrics.js';
import { addServiceMetrics } from '../metrics/service-metrics.js';
import { addStartMetrics } from '../metrics/start-metrics.js';
import { addVolumeMetrics } from '../metrics/volume-metrics.js';
import { findCgroupMounts } from '#base/proc/cgroups/cgroup-mounts.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { readOwnMountinfo } from '#base/proc/mountinfo.js';
import { type AgentParts } from '../../parts/agent-parts.js';
import { countPods, type CountedParts } from './count-pods.js';
import { watchContainerEnds } from './watch-container-ends.js';
import { watchPodStarts } from './watch-pod-starts.js';
import { sourceOf, type VolumeSource } from '../../volumes/volume-kind.js';

/** What {@link AgentMetrics} reads. */
export interface AgentMetricsOptions {
  readonly parts: Pick<
    AgentParts,
    | 'pleg'
    | 'workers'
    | 'loop'
    | 'desired'
    | 'services'
    | 'probes'
    | 'claimUsages'
    | 'protection'
    | 'mounter'
    | 'pullRecords'
    | 'pullProgress'
    | 'credentialConfig'
    | 'shutdown'
  >;
  readonly client: Pick<CriClient, 'callsInFlight' | 'counters' | 'connectionState' | 'connectionGeneration'>;
  readonly identity: { readonly name: string };
  readonly runtime: { readonly name: string; readonly version: string };
  readonly history: { readonly facts: JournalStats };
  readonly log: LogState;
  readonly logger: Logger;
  /** The parts that only a node of a cluster has. */
  readonly cluster: MeasuredCluster | undefined;
  /** podloop's. */
  readonly version: string;
  readonly channels: Channels;
  readonly clock: Clock;
}

/** What is measured of a node of a cluster. */
interface MeasuredCluster {
  readonly auth: { readonly stats: ReturnType<ReadDelegatedAuth> };
  /** The state of its other parts; undefined before the agent has joined. */
  readonly state: ReturnType<ReadClusterParts>;
}

/** The metrics of an agent: each page encoded, in pieces, in Prometheus' format. */
export class AgentMetrics implements Disposable {
  /** The delay of the event loop, for other reports. */
  readonly loopDelay: EventLoopDelay;
  readonly #agent: MetricsRegistry;
  readonly #clock: Clock;
  readonly #probes: MetricsRegistry;

  /** Counts from now on: to be created before anything runs. */
  static async start(given: AgentMetricsOptions): Promise<AgentMetrics> {
    const [hierarchy] = findCgroupMounts(await readOwnMountinfo().catch(() => ''));
    const metrics = new AgentMetrics(given, hierarchy?.version);
    if (given.cluster !== undefined) await metrics.#addClusterNode(given.cluster);
    return metrics;
  }

  private constructor(given: AgentMetricsOptions, cgroupVersion: 1 | 2 | undefined) {
    const { parts, client, identity, runtime, history, log, cluster, version, channels, clock } = given;
    const { pleg, probes } = parts;
    const registry = new MetricsRegistry({ clock, channels });
    addNodeMetrics(registry, { nodeName: identity.name, version, runtime, cgroupVersion });
    addMemoryProtectionMetrics(registry, () => parts.protection.total);
    addShutdownMetrics(registry, () => parts.shutdown.times);
    addProcessMetrics(registry);
    this.loopDelay = new EventLoopDelay({ clock });
    registry.onDispose(() => this.loopDelay[Symbol.dispose]());
    addEventLoopMetrics(registry, () => this.loopDelay.read());
    addJournalMetrics(registry, () => history.facts);
    addLogMetrics(registry, log);
    addRelistMetrics(registry, () => pleg.health());
    addEventGeneratorMetrics(registry, () => pleg.state());
    addRuntimeOperationMetrics(registry, client);
    addConfigMetrics(registry);
    addHttpServerMetrics(registry);
    addCertificateMetrics(registry, () => clock.now());
    addPods(registry, given, () => cluster?.state?.pods.mirrors ?? 0);
    addProbeStats(registry, () => probes.stats);
    this.#agent = registry;
    this.#clock = clock;
    this.#probes = new MetricsRegistry({ clock, channels });
    addProcessStartTime(this.#probes);
    addProbeMetrics(this.#probes, (uid) => parts.workers.isKnown(uid));
  }

  async #addClusterNode(cluster: MeasuredCluster): Promise<void> {
    const { startedAtSeconds, bootedAtSeconds } = await readProcessFacts();
    addClusterNodeMetrics(this.#agent, {
      agentStartedAtMs: startedAtSeconds === undefined ? performance.timeOrigin : startedAtSeconds * 1_000,
      machineStartedAtMs: bootedAtSeconds === undefined ? undefined : bootedAtSeconds * 1_000,
    });
    addClusterPartsMetrics(this.#agent, () => cluster.state);
    addDelegatedAuthMetrics(this.#agent, () => cluster.auth.stats);
    addKubeClientMetrics(this.#agent, () => this.#clock.now());
    addNodeCertificateMetrics(this.#agent, () => this.#clock.now());
  }

  /** The page /metrics. */
  async metrics(signal?: AbortSignal): Promise<readonly Uint8Array[]> {
    return await this.#agent.page(signal);
  }

  /** The page /metrics/probes. */
  async probes(signal?: AbortSignal): Promise<readonly Uint8Array[]> {
    return await this.#probes.page(signal);
  }

  /** Stops counting. Idempotent. */
  [Symbol.dispose](): void {
    this.#agent[Symbol.dispose]();
    this.#probes[Symbol.dispose]();
  }
}

function addPods(
  registry: MetricsRegistry,
  { parts, clock, logger }: AgentMetricsOptions,
  countMirrors: () => number,
): void {
  const { workers, loop, desired, mounter, claimUsages, pullRecords, pullProgress, services } = parts;
  const { credentialConfig } = parts;
  const isOurs = (uid: string): boolean => desired.has(uid);
  addPodCountMetrics(registry, () => ({ ...countPods(parts), mirrors: countMirrors() }));
  addPodWorkerMetrics(registry, { workers: () => workers.stats, loop: () => loop.state() });
  addAdmissionMetrics(registry);
  addStartMetrics(registry);
  addImageMetrics(registry, () => ({ ...pullRecords.counts, ...pullProgress.bytes }), credentialConfig.hash);
  addServiceMetrics(registry, () => services.report());
  addVolumeMetrics(registry, {
    isKnown: (uid) => workers.isKnown(uid),
    wanted: () => listWantedVolumes(parts),
    mountTools: () => mounter.counts,
    claims: () => claimUsages.all(),
  });
  const listen: MetricsRegistry['listen'] = (channel, listener) => registry.listen(channel, listener);
  watchPodStarts({
    ...{ listen, clock, isOurs, logger, observer: addPodStartMetrics(registry) },
    isEnding: (uid) => workers.isTerminationRequested(uid),
  });
  watchContainerEnds({
    // The containers of a pod that is removed end, too.
    ...{ listen, isOurs: (uid) => isOurs(uid) || workers.isKnown(uid) },
    onEnd: addContainerEndMetrics(registry),
  });
}

/** The kind of each volume of pods that are wanted and have not ended: emptyDir, configMap … */
function* listWantedVolumes({ desired, workers }: CountedParts): Iterable<VolumeSource> {
  for (const pod of desired.all()) {
    const { uid } = pod.metadata;
    if (desired.findRejection(uid) !== undefined || workers.isKnownTerminated(uid)) continue;
    for (const volume of pod.spec.volumes ?? []) yield sourceOf(volume);
  }
}
