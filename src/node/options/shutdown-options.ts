import { type ShutdownPeriod } from '#kube/node/shutdown-words.js';
import { type OptionsTable } from './options-table.js';

/** The options for the end of pods before the machine shuts down. */
export interface ShutdownOptions {
  /** For all pods together; 0 leaves the pods to the machine. */
  readonly shutdownGracePeriodMs: number;
  /** The part of it that critical pods get, after all others have ended. */
  readonly shutdownGracePeriodCriticalPodsMs: number;
  /** In place of the two above. */
  readonly shutdownGracePeriodByPodPriority: readonly ShutdownPeriod[];
}

/** The rows of {@link ShutdownOptions}. */
export const SHUTDOWN_OPTIONS: OptionsTable<ShutdownOptions> = {
  shutdownGracePeriodMs: {
    type: 'duration',
    default: 0,
    flag: '--shutdown-grace-period',
    group: 'Node and resources',
    field: 'shutdownGracePeriod',
    fromConfig: (config) => config.shutdownGracePeriodMs,
    doc: 'How long the shutdown of the machine is delayed so that pods end in order; needs systemd; 0s leaves the pods to the machine',
  },
  shutdownGracePeriodCriticalPodsMs: {
    type: 'duration',
    default: 0,
    flag: '--shutdown-grace-period-critical-pods',
    group: 'Node and resources',
    field: 'shutdownGracePeriodCriticalPods',
    fromConfig: (config) => config.shutdownGracePeriodCriticalPodsMs,
    doc: 'Part of --shutdown-grace-period that is reserved for critical pods, which end last',
  },
  shutdownGracePeriodByPodPriority: {
    type: 'list',
    default: [],
    flag: '',
    field: 'shutdownGracePeriodByPodPriority',
    fromConfig: (config) => config.shutdownGracePeriodByPodPriority,
    doc: 'How long pods from each priority on get, the lowest first, when the machine shuts down; in place of shutdownGracePeriod',
  },
};

/** The first problem of these options, by the kubelet's own rules. Pure. */
export function findShutdownProblem({
  shutdownGracePeriodMs: all,
  shutdownGracePeriodCriticalPodsMs: critical,
  shutdownGracePeriodByPodPriority: byPriority,
}: ShutdownOptions): string | undefined {
  const flag = '--shutdown-grace-period';
  if (all > 0 && all < 1_000) return `${flag}: must be 0s or at least 1s`;
  if (critical > 0 && critical < 1_000) return `${flag}-critical-pods: must be 0s or at least 1s`;
  if (critical > all) return `${flag}-critical-pods: must not be more than ${flag}`;
  return byPriority.length > 0 && all > 0
    ? `shutdownGracePeriodByPodPriority: does not go with shutdownGracePeriod (${flag})`
    : undefined;
}
