import {
  credentialPluginEnded,
  imageAccessJudged,
  imageCollected,
  imagePullEnded,
  imageRequested,
} from '#base/channels/image-channels.js';
import { BoundedValues } from '../registry/bounded-values.js';
import { DEFAULT_BUCKETS, IMAGE_PULL_BUCKETS } from '../registry/buckets.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

const MIB = 1_024n * 1_024n;
const GIB = 1_024n * MIB;
/** The lower limits of the size classes of images in bytes, largest first. */
const SIZES = [
  [100n * GIB, 'GT100GB'],
  [60n * GIB, '60GB-100GB'],
  [40n * GIB, '40GB-60GB'],
  [30n * GIB, '30GB-40GB'],
  [20n * GIB, '20GB-30GB'],
  [10n * GIB, '10GB-20GB'],
  [5n * GIB, '5GB-10GB'],
  [GIB, '1GB-5GB'],
  [500n * MIB, '500MB-1GB'],
  [100n * MIB, '100MB-500MB'],
  [10n * MIB, '10MB-100MB'],
  [0n, '0-10MB'],
] as const;

/** The state of pulls. */
export interface PullCounts {
  /** How many records are on disk: of pulled images, and of pulls that have begun. */
  readonly pulled: number;
  readonly begun: number;
  /** How many containers wait for a pull, and the bytes of those pulls. */
  readonly pulls: number;
  readonly fetched: number;
  readonly total: number;
}

/**
 * Counts requests for images and the decisions on their use, and times the pulls.
 *
 * @param configHash of the configuration of credential provider plugins, if there is one.
 */
export function addImageMetrics(
  registry: MetricsRegistry,
  counts: () => PullCounts,
  configHash?: string,
): void {
  const requests = registry.counter({
    name: 'kubelet_image_manager_ensure_image_requests_total',
    help: 'Images that containers asked for, by pull policy, whether they were there, and whether they were pulled.',
    labels: ['pull_policy', 'present_locally', 'pull_required'],
  });
  const policies = new BoundedValues(8);
  const wordOf = (value: boolean | undefined): string => (value === undefined ? 'unknown' : String(value));
  registry.listen(imageRequested, ({ pullPolicy, isPresent, mustPull }) =>
    requests.inc({
      pull_policy: policies.take(pullPolicy.toLowerCase()),
      present_locally: wordOf(isPresent),
      pull_required: wordOf(mustPull),
    }),
  );
  const checks = registry.counter({
    name: 'kubelet_imagemanager_image_mustpull_checks_total',
    help: 'Images that were there when a container asked for them, by whether its pod may use them without pulling them again.',
    labels: ['result'],
  });
  registry.listen(imageAccessJudged, ({ result }) => checks.inc({ result }));
  const collected = registry.counter({
    name: 'kubelet_image_garbage_collected_total',
    help: 'Images that were removed since nobody used them, by why: for their age, or for want of space.',
    labels: ['reason'],
  });
  registry.listen(imageCollected, ({ reason }) => collected.inc({ reason }));
  registry.readGauge(
    {
      name: 'kubelet_imagemanager_ondisk_pulledrecords',
      help: 'Images whose pull is recorded on the disk.',
    },
    () => counts().pulled,
  );
  registry.readGauge(
    {
      name: 'kubelet_imagemanager_ondisk_pullintents',
      help: 'Pulls with a login whose beginning is recorded on the disk.',
    },
    () => counts().begun,
  );
  registry.readGauge(
    {
      name: 'podloop_image_pulls_in_progress',
      help: 'Containers whose image is being pulled, or waits for its turn.',
    },
    () => counts().pulls,
  );
  registry.readGauge(
    {
      name: 'podloop_image_pull_bytes',
      help: 'Bytes of the layers of images that are being pulled, with the runtime in the box.',
    },
    () => counts().total,
  );
  registry.readGauge(
    {
      name: 'podloop_image_pull_fetched_bytes',
      help: 'How many bytes of those layers are there.',
    },
    () => counts().fetched,
  );
  const duration = registry.histogram(
    {
      name: 'kubelet_image_pull_duration_seconds',
      help: 'How long pulls of images took that succeeded, the wait for their turn included, by the size of the image.',
      labels: ['image_size_in_bytes'],
    },
    IMAGE_PULL_BUCKETS,
  );
  const plugins = registry.histogram(
    {
      name: 'kubelet_credential_provider_plugin_duration',
      help: 'How long credential provider plugins ran, in seconds.',
      labels: ['plugin_name'],
    },
    DEFAULT_BUCKETS,
  );
  const pluginErrors = registry.counter({
    name: 'kubelet_credential_provider_plugin_errors_total',
    help: 'Runs of credential provider plugins that gave no answer, or a wrong one.',
    labels: ['plugin_name'],
  });
  registry.readGauge(
    {
      name: 'kubelet_credential_provider_config_info',
      help: 'The configuration of credential provider plugins that was read at the start, by its hash.',
      labels: ['hash'],
    },
    () => (configHash === undefined ? [] : [{ labels: { hash: configHash }, value: 1 }]),
  );
  registry.listen(credentialPluginEnded, ({ plugin, durationMs, isFailed }) => {
    plugins.observe({ plugin_name: plugin }, durationMs / 1_000);
    if (isFailed) pluginErrors.inc({ plugin_name: plugin });
  });
  const errors = registry.counter({
    name: 'podloop_image_pull_errors_total',
    help: 'Pulls of images that failed.',
  });
  registry.listen(imagePullEnded, ({ durationMs, sizeBytes }) => {
    if (sizeBytes === undefined) errors.inc();
    else duration.observe({ image_size_in_bytes: nameSize(sizeBytes) }, durationMs / 1_000);
  });
}

function nameSize(bytes: bigint): string {
  return SIZES.find(([above]) => bytes > above)?.[1] ?? 'N/A';
}
