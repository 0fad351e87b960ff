import { DEFAULT_HARD_THRESHOLDS, type WrittenThresholds } from '#kube/node/eviction-thresholds.js';
import { type OptionsTable } from './options-table.js';

/** The options for resource pressure and eviction. */
export interface PressureOptions {
  readonly evictionHard: WrittenThresholds;
  readonly evictionSoft: WrittenThresholds;
  /** Durations by signal; one for each soft threshold. */
  readonly evictionSoftGracePeriod: Readonly<Record<string, string>>;
  readonly evictionMaxPodGracePeriodSeconds: number;
  readonly evictionMinimumReclaim: WrittenThresholds;
  readonly evictionPressureTransitionPeriodMs: number;
}

/** The rows of {@link PressureOptions}. */
export const PRESSURE_OPTIONS: OptionsTable<PressureOptions> = {
  evictionHard: {
    type: 'map',
    default: DEFAULT_HARD_THRESHOLDS,
    flag: '',
    field: 'evictionHard',
    fromConfig: ({ evictionHard: written, mergeDefaultEvictionSettings: merges = false }) =>
      written && (merges ? { ...DEFAULT_HARD_THRESHOLDS, ...written } : written),
    doc: 'In a cluster: when less than this is left, the node is under pressure and pods are evicted at once; pods cannot request it',
  },
  evictionSoft: {
    type: 'map',
    default: {},
    flag: '',
    field: 'evictionSoft',
    fromConfig: (config) => config.evictionSoft,
    doc: 'In a cluster: when less than this is left, the node is under pressure, and pods are evicted after a grace period',
  },
  evictionSoftGracePeriod: {
    type: 'map',
    default: {},
    flag: '',
    field: 'evictionSoftGracePeriod',
    fromConfig: (config) => config.evictionSoftGracePeriod,
    doc: 'In a cluster: how long a soft threshold has to be exceeded before pods are evicted',
  },
  evictionMaxPodGracePeriodSeconds: {
    type: 'count',
    default: 0,
    flag: '',
    field: 'evictionMaxPodGracePeriod',
    fromConfig: (config) => config.evictionMaxPodGracePeriod,
    doc: 'In a cluster: maximum number of seconds that a pod gets to stop when a soft threshold evicts it',
  },
  evictionMinimumReclaim: {
    type: 'map',
    default: {},
    flag: '',
    field: 'evictionMinimumReclaim',
    fromConfig: (config) => config.evictionMinimumReclaim,
    doc: 'In a cluster: how much more than the threshold has to be free again after an eviction',
  },
  evictionPressureTransitionPeriodMs: {
    type: 'duration',
    default: 5 * 60_000,
    flag: '',
    field: 'evictionPressureTransitionPeriod',
    fromConfig: (config) => config.evictionPressureTransitionPeriodMs,
    doc: 'In a cluster: minimum time that the node stays under pressure',
  },
};
