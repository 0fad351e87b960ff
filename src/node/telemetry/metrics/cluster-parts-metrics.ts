import { podStatusReported } from '#base/channels/cluster-pod-channels.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** A watched collection of an API server, and its state. */
export interface FollowedCollection {
  /** `pods`, `services` … */
  readonly collection: string;
  /** It is complete, and its watch does not fail. */
  readonly isInStep: boolean;
  /** Why it is not, if something has failed. */
  readonly problem?: string;
  readonly stats: {
    readonly lists: number;
    readonly watches: number;
    readonly changes: number;
    readonly bookmarks: number;
    readonly failures: number;
    readonly expired: number;
    readonly ignored: number;
  };
}

/** The state of the parts between an agent and its cluster. Counters count since the start of the agent. */
export interface ClusterPartsState {
  readonly followed: readonly FollowedCollection[];
  readonly pods: {
    readonly known: number;
    readonly mirrors: number;
    readonly unknownFields: number;
    readonly statuses: {
      readonly patches: number;
      readonly deletions: number;
      readonly failures: number;
      readonly folded: number;
      readonly pending: number;
    };
  };
  readonly objects: {
    readonly objects: number;
    readonly watches: number;
    readonly unfollowed: number;
  };
  readonly events: {
    readonly created: number;
    readonly counted: number;
    readonly combined: number;
    readonly filtered: number;
    readonly folded: number;
    readonly overflowed: number;
    readonly rejected: number;
    readonly abandoned: number;
    readonly postponed: number;
    readonly nameless: number;
    readonly waiting: number;
  };
}

/** Undefined before the agent has joined. */
export type ReadClusterParts = () => ClusterPartsState | undefined;

/** Seconds; the kubelet's. */
const STATUS_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60] as const;

/** Reports how a node of a cluster handles pods, the objects that they refer to, and events. */
export function addClusterPartsMetrics(registry: MetricsRegistry, readState: ReadClusterParts): void {
  const read = registry.oncePerScrape(readState);
  addFollowed(registry, read);
  addStatuses(registry, read);
  addObjects(registry, read);
  addEvents(registry, read);
}

function addFollowed(registry: MetricsRegistry, read: ReadClusterParts): void {
  registry.readGauge(
    {
      name: 'podloop_cluster_in_step',
      help: 'Whether a collection of the API server is known as it is there, by collection.',
      labels: ['collection'],
    },
    () =>
      read()?.followed.map(({ collection, isInStep }) => ({
        ...{ labels: { collection }, value: isInStep ? 1 : 0 },
      })),
  );
  const counters: readonly [what: keyof FollowedCollection['stats'], name: string, help: string][] = [
    ['lists', 'lists', 'Lists of a collection that were answered.'],
    ['watches', 'watches', 'Watches of a collection that were opened.'],
    ['changes', 'watch_changes', 'Changes that watches have reported.'],
    ['bookmarks', 'watch_bookmarks', 'Bookmarks that watches have reported.'],
    ['failures', 'watch_failures', 'Lists and watches of a collection that failed.'],
    [
      'expired',
      'watch_expirations',
      'Lists of everything after the first, as the API server no longer had the version of the watch.',
    ],
    ['ignored', 'watch_ignored', 'Items of lists and watches that made no sense.'],
  ];
  for (const [what, name, help] of counters) {
    registry.readCounter({ name: `podloop_cluster_${name}_total`, help, labels: ['collection'] }, () =>
      read()?.followed.map(({ collection, stats }) => ({ labels: { collection }, value: stats[what] })),
    );
  }
}

function addStatuses(registry: MetricsRegistry, read: ReadClusterParts): void {
  const told = registry.histogram(
    {
      name: 'kubelet_pod_status_sync_duration_seconds',
      help: 'From the first change of a pod’s status that the API server did not know until it did.',
    },
    STATUS_SECONDS,
  );
  registry.listen(podStatusReported, ({ durationMs }) => told.observe(durationMs / 1_000));
  registry.readGauge(
    {
      name: 'podloop_cluster_pods',
      help: 'Pods that the API server has bound to the node, mirror pods included.',
    },
    () => read()?.pods.known,
  );
  registry.readCounter(
    {
      name: 'podloop_cluster_pod_unknown_fields_total',
      help: 'Fields of pods of the API server that podloop does not know.',
    },
    () => read()?.pods.unknownFields,
  );
  registry.readCounter(
    {
      name: 'podloop_pod_status_writes_total',
      help: 'Changes of pods to report to the API server, by result: patched, deleted, failed, folded.',
      labels: ['outcome'],
    },
    () => {
      const { patches, deletions, failures, folded } = read()?.pods.statuses ?? {};
      return outcomes({ patched: patches, deleted: deletions, failed: failures, folded });
    },
  );
  registry.readGauge(
    {
      name: 'podloop_pod_status_writes_pending',
      help: 'Pods to report to the API server: under way, waiting, or to be tried again.',
    },
    () => read()?.pods.statuses.pending,
  );
}

function addObjects(registry: MetricsRegistry, read: ReadClusterParts): void {
  registry.readGauge(
    { name: 'podloop_cluster_objects', help: 'Secrets and ConfigMaps that pods of the API server refer to.' },
    () => read()?.objects.objects,
  );
  registry.readGauge(
    {
      name: 'podloop_cluster_object_watches',
      help: 'Secrets and ConfigMaps that are watched, each by itself.',
    },
    () => read()?.objects.watches,
  );
  registry.readCounter(
    {
      name: 'podloop_cluster_object_watches_rested_total',
      help: 'Times that a watch of a Secret or ConfigMap gave way to another, as there were too many.',
    },
    () => read()?.objects.unfollowed,
  );
}

function addEvents(registry: MetricsRegistry, read: ReadClusterParts): void {
  registry.readCounter(
    {
      name: 'podloop_cluster_events_total',
      help: 'What became of events: created, counted, combined, filtered, folded, overflowed, rejected, abandoned, postponed, nameless.',
      labels: ['outcome'],
    },
    () => {
      const { waiting: _waiting, ...became } = read()?.events ?? {};
      return outcomes(became);
    },
  );
  registry.readGauge(
    { name: 'podloop_cluster_events_waiting', help: 'Events that wait to be written.' },
    () => read()?.events.waiting,
  );
}

function outcomes(counts: Readonly<Record<string, number | undefined>>) {
  return Object.entries(counts).map(([outcome, value = 0]) => ({ labels: { outcome }, value }));
}
