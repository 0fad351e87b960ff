import { DEFAULT_HARD_THRESHOLDS, type WrittenThresholds } from '../../model/eviction-thresholds.js';
import { type OptionsTable } from './options-table.js';

/** What an agent is told of when its node is short of something. */
export interface PressureOptions {
  readonly evictionHard: WrittenThresholds;
  readonly evictionSoft: WrittenThresholds;
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
    doc: 'In a cluster: with less than that left the node is under pressure, and pods cannot ask for it; nothing is evicted',
  },
  evictionSoft: {
    type: 'map',
    default: {},
    flag: '',
    field: 'evictionSoft',
    fromConfig: (config) => config.evictionSoft,
    doc: 'In a cluster: with less than that left the node is under pressure, too',
  },
  evictionPressureTransitionPeriodMs: {
    type: 'duration',
    default: 5 * 60_000,
    flag: '',
    field: 'evictionPressureTransitionPeriod',
    fromConfig: (config) => config.evictionPressureTransitionPeriodMs,
    doc: 'In a cluster: for how long the node is under pressure at least',
  },
};
