import {
  orphanedVolumesCleaned,
  volumeMeasured,
  volumesTearDownEnded,
  volumeSetUpEnded,
} from '#base/channels/volume-channels.js';
import { BoundedValues } from '../registry/bounded-values.js';
import { DEFAULT_BUCKETS, VOLUME_BUCKETS } from '../registry/buckets.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The volumes of a node, as far as they are reported. */
export interface VolumePorts {
  /** Whether a pod is not finished: the counters of its volumes disappear with it. */
  readonly isKnown: (podUid: string) => boolean;
  /** The kind of each volume of the desired pods: emptyDir, configMap … */
  readonly wanted: () => Iterable<string>;
  readonly mountTools: () => MountToolStats;
  /** The claimed volumes that have been measured, each once. */
  readonly claims: () => Iterable<ClaimStats>;
}

/** A claimed volume and its usage; what is unknown is undefined. */
export interface ClaimStats {
  readonly claim: { readonly namespace: string; readonly name: string };
  readonly disk: { readonly [stat in keyof typeof CLAIM_STATS]?: number | undefined };
}

/** The kubelet's metrics of claimed volumes. */
const CLAIM_STATS = {
  capacityBytes: ['kubelet_volume_stats_capacity_bytes', 'The capacity of a claimed volume.'],
  availableBytes: ['kubelet_volume_stats_available_bytes', 'What is free in a claimed volume.'],
  usedBytes: ['kubelet_volume_stats_used_bytes', 'What is used in a claimed volume.'],
  inodes: ['kubelet_volume_stats_inodes', 'How many files a claimed volume can have.'],
  inodesFree: ['kubelet_volume_stats_inodes_free', 'How many more files a claimed volume can have.'],
  inodesUsed: ['kubelet_volume_stats_inodes_used', 'How many files a claimed volume has.'],
} as const;

/** The state of the tools that mount and unmount. */
export interface MountToolStats {
  /** Running tools, and killed ones that have not ended yet. */
  readonly running: number;
  readonly waiting: number;
  /** Since the start: not started because too many waited. */
  readonly refused: number;
  /** Since the start: not started because their turn did not come in time. */
  readonly expired: number;
}

/** The kubelet's plugin names of volumes, by the field that names their kind. */
const PLUGINS: Readonly<Record<string, string>> = {
  emptyDir: 'kubernetes.io/empty-dir',
  hostPath: 'kubernetes.io/host-path',
  configMap: 'kubernetes.io/configmap',
  secret: 'kubernetes.io/secret',
  downwardAPI: 'kubernetes.io/downward-api',
  projected: 'kubernetes.io/projected',
};

/** Times and counts operations on volumes of pods, and reports remains of pods that are gone. */
export function addVolumeMetrics(registry: MetricsRegistry, ports: VolumePorts): void {
  const plugins = new BoundedValues(16);
  const pluginOf = (source: string): string => plugins.take(PLUGINS[source] ?? source);
  addOperations(registry, pluginOf);
  addVolumes(registry, ports, pluginOf);
  addOrphans(registry);
  addMountTools(registry, registry.oncePerScrape(ports.mountTools));
  addClaimStats(registry, registry.oncePerScrape(ports.claims));
  const measured = registry.histogram(
    {
      name: 'kubelet_volume_metric_collection_duration_seconds',
      help: 'How long it took to count how much a volume uses, by what counts.',
      labels: ['metric_source'],
    },
    DEFAULT_BUCKETS,
  );
  registry.listen(volumeMeasured, ({ durationMs }) =>
    measured.observe({ metric_source: 'du' }, durationMs / 1_000),
  );
}

function addOperations(registry: MetricsRegistry, pluginOf: (source: string) => string): void {
  const duration = registry.histogram(
    {
      name: 'storage_operation_duration_seconds',
      help: 'How long it took to make volumes of pods, to bring them up to date or to take them away, by plugin and result.',
      labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
    },
    VOLUME_BUCKETS,
  );
  const labelsOf = (plugin: string, operation: string, isDone: boolean) => ({
    ...{ volume_plugin: plugin, operation_name: operation },
    ...{ status: isDone ? 'success' : 'fail-unknown', migrated: 'false' },
  });
  registry.listen(volumeSetUpEnded, ({ source, durationMs, isSetUp }) =>
    duration.observe(labelsOf(pluginOf(source), 'volume_mount', isSetUp), durationMs / 1_000),
  );
  registry.listen(volumesTearDownEnded, ({ kinds, durationMs, isTornDown }) => {
    for (const kind of kinds) {
      const plugin = pluginOf(kind.replace('~', '/'));
      duration.observe(labelsOf(plugin, 'volume_unmount', isTornDown), durationMs / 1_000);
    }
  });
}

/** A requested volume of a pod. */
interface KnownVolume {
  readonly plugin: string;
  /** Monotonic milliseconds. */
  readonly sinceMs: number;
  isSetUp: boolean;
}

function addVolumes(
  registry: MetricsRegistry,
  { isKnown, wanted }: VolumePorts,
  pluginOf: (source: string) => string,
): void {
  const overall = registry.histogram(
    {
      name: 'volume_operation_total_seconds',
      help: 'From the first try to make a volume of a pod until it could be used, failed tries included.',
      labels: ['plugin_name', 'operation_name'],
    },
    VOLUME_BUCKETS,
  );
  /** By pod and volume. */
  const known = new Map<string, Map<string, KnownVolume>>();
  const sweep = (): void => {
    for (const uid of known.keys()) if (!isKnown(uid)) known.delete(uid);
  };
  registry.listen(volumeSetUpEnded, ({ podUid, volume, source, durationMs, isSetUp }) => {
    // Also without scrapes, entries of pods that are gone must not pile up.
    if (!known.has(podUid)) sweep();
    const ofPod = known.get(podUid) ?? new Map<string, KnownVolume>();
    known.set(podUid, ofPod);
    const nowMs = registry.clock.monotonicMs();
    const found = ofPod.get(volume) ?? {
      plugin: pluginOf(source),
      sinceMs: nowMs - durationMs,
      isSetUp: false,
    };
    ofPod.set(volume, found);
    if (!isSetUp || found.isSetUp) return;
    found.isSetUp = true;
    const labels = { plugin_name: found.plugin, operation_name: 'overall_volume_mount' };
    overall.observe(labels, (nowMs - found.sinceMs) / 1_000);
  });
  registry.listen(volumesTearDownEnded, ({ podUid, isTornDown }) => {
    if (isTornDown) known.delete(podUid);
  });
  registry.readGauge(
    {
      name: 'volume_manager_total_volumes',
      help: 'Volumes of pods by plugin: those that pods want, and those that are made.',
      labels: ['plugin_name', 'state'],
    },
    () => {
      sweep();
      const made = [...known.values()].flatMap((ofPod) =>
        [...ofPod.values()].flatMap(({ plugin, isSetUp }) => (isSetUp ? [plugin] : [])),
      );
      return [
        ...countBy(made, 'actual_state_of_world'),
        ...countBy([...wanted()].map(pluginOf), 'desired_state_of_world'),
      ];
    },
  );
}

function countBy(
  plugins: readonly string[],
  state: string,
): { readonly labels: Record<'plugin_name' | 'state', string>; readonly value: number }[] {
  const counts = new Map<string, number>();
  for (const plugin of plugins) counts.set(plugin, (counts.get(plugin) ?? 0) + 1);
  return [...counts].map(([plugin, value]) => ({ labels: { plugin_name: plugin, state }, value }));
}

function addOrphans(registry: MetricsRegistry): void {
  let orphans = { cleaned: 0, failed: 0 };
  registry.listen(orphanedVolumesCleaned, (newest) => (orphans = newest));
  registry.readGauge(
    {
      name: 'kubelet_orphan_pod_cleaned_volumes',
      help: 'Removed pods whose volumes were released at the last clean-up.',
    },
    () => orphans.cleaned,
  );
  registry.readGauge(
    {
      name: 'kubelet_orphan_pod_cleaned_volumes_errors',
      help: 'Pods that are gone and whose volumes could not be given back when that was last tried.',
    },
    () => orphans.failed,
  );
}

function addClaimStats(registry: MetricsRegistry, read: () => Iterable<ClaimStats>): void {
  for (const stat of Object.keys(CLAIM_STATS) as (keyof typeof CLAIM_STATS)[]) {
    const [name, help] = CLAIM_STATS[stat];
    registry.readGauge({ name, help, labels: ['namespace', 'persistentvolumeclaim'] }, () =>
      [...read()].flatMap(({ claim: { namespace, name: persistentvolumeclaim }, disk }) => {
        const value = disk[stat];
        return value === undefined ? [] : [{ labels: { namespace, persistentvolumeclaim }, value }];
      }),
    );
  }
}

function addMountTools(registry: MetricsRegistry, read: () => MountToolStats): void {
  registry.readGauge(
    {
      name: 'podloop_mount_tools',
      help: 'Mounts and unmounts of file systems in memory that are under way, or wait for their turn.',
      labels: ['state'],
    },
    () => (['running', 'waiting'] as const).map((state) => ({ labels: { state }, value: read()[state] })),
  );
  registry.readCounter(
    {
      name: 'podloop_mount_tools_not_begun_total',
      help: 'Of these, how many were given up before they began, because too many waited or their turn did not come in time.',
      labels: ['because'],
    },
    () => [
      { labels: { because: 'too_many' }, value: read().refused },
      { labels: { because: 'too_late' }, value: read().expired },
    ],
  );
}
