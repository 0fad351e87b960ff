import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** Pods from sources without deletions (files, URLs, standard input), and others. */
export interface CountByOrigin {
  readonly static: number;
  readonly other: number;
}

/** A pod with a worker. */
export interface WorkingPod {
  readonly lifecycle: 'sync' | 'terminating' | 'terminated';
  readonly config: 'desired' | 'orphan' | 'runtime_only';
  readonly isStatic: boolean;
}

/** The pods of this node, as far as they are reported. */
export interface PodCounts {
  readonly desired: CountByOrigin;
  readonly active: CountByOrigin;
  readonly working: Iterable<WorkingPod>;
  readonly ephemeralContainers: number;
  /** Pods of an API server that stand for static ones. */
  readonly mirrors: number;
}

const LIFECYCLES = ['sync', 'terminating', 'terminated'] as const;
/** The combinations of `config` and `static`: the source of a pod that only the runtime knows is unknown. */
const ORIGINS = [
  ['desired', 'true'],
  ['desired', ''],
  ['orphan', 'true'],
  ['orphan', ''],
  ['runtime_only', 'unknown'],
] as const;

/** Counts the pods of this node by what is wanted of them, at the time of the scrape. */
export function addPodCountMetrics(registry: MetricsRegistry, counts: () => PodCounts): void {
  const read = registry.oncePerScrape(counts);
  const byOrigin = ({ static: fromFiles, other }: CountByOrigin) => [
    { labels: { static: 'true' }, value: fromFiles },
    { labels: { static: '' }, value: other },
  ];
  registry.readGauge(
    {
      name: 'kubelet_desired_pods',
      help: 'Pods that the sources want on this node, rejected ones included.',
      labels: ['static'],
    },
    () => byOrigin(read().desired),
  );
  registry.readGauge(
    {
      name: 'kubelet_active_pods',
      help: 'Pods that claim something of the node: admitted ones that have not ended.',
      labels: ['static'],
    },
    () => byOrigin(read().active),
  );
  registry.readGauge(
    {
      name: 'kubelet_mirror_pods',
      help: 'Mirror pods: pods on an API server that stand for those of manifests.',
    },
    () => read().mirrors,
  );
  registry.readGauge(
    {
      name: 'kubelet_managed_ephemeral_containers',
      help: 'Ephemeral containers of the pods that are wanted.',
    },
    () => read().ephemeralContainers,
  );
  registry.readGauge(
    {
      name: 'kubelet_working_pods',
      help: 'Pods that are worked on, by where in their life they are and whether somebody wants them.',
      labels: ['lifecycle', 'config', 'static'],
    },
    () => {
      const counted = new Map<string, number>();
      for (const { lifecycle, config, isStatic } of read().working) {
        const origin = config === 'runtime_only' ? 'unknown' : isStatic ? 'true' : '';
        const key = `${lifecycle} ${config} ${origin}`;
        counted.set(key, (counted.get(key) ?? 0) + 1);
      }
      return LIFECYCLES.flatMap((lifecycle) =>
        ORIGINS.map(([config, origin]) => ({
          labels: { lifecycle, config, static: origin },
          value: counted.get(`${lifecycle} ${config} ${origin}`) ?? 0,
        })),
      );
    },
  );
}
