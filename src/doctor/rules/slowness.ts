import { type OperationFacts } from '../facts/call-meter.js';
import { valueOf } from '../looked.js';
import { type RuntimeFacts } from '../facts/runtime-facts.js';
import { LIMITS } from './limits.js';
import { formatMs } from './words.js';

/** What is slow about a runtime whatever it is asked for, so that the number of pods is not to blame. */
export interface Slowness {
  /** The calls of Version, when already they are slow. */
  readonly version?: OperationFacts;
  /** The median of a status call, when most of them are slow. */
  readonly statusMs?: number;
}

/** Which calls are slow whatever they are about; undefined when none are. */
export function findRuntimeSlowness({ operations, inspections: looked }: RuntimeFacts): Slowness | undefined {
  const version = operations.find(({ method }) => method === 'Version');
  const isVersionSlow = version !== undefined && version.p50Ms >= LIMITS.versionSlowMs && version.hung === 0;
  const statusMs = valueOf(looked)?.medianMs ?? 0;
  const isStatusSlow = statusMs >= LIMITS.statusSlowMs;
  if (!isVersionSlow && !isStatusSlow) return undefined;
  return { ...(isVersionSlow && { version }), ...(isStatusSlow && { statusMs }) };
}

/** What a relist takes in which every pod has changed: whether that is long, longer than a kubelet stands, and in words. */
export function judgeSeries({ inspections: looked }: RuntimeFacts): {
  readonly isLong: boolean;
  readonly isTooLong: boolean;
  readonly evidence: readonly string[];
} {
  const inSeriesMs = valueOf(looked)?.inSeriesMs ?? 0;
  const isLong = inSeriesMs >= LIMITS.seriesLongMs;
  const isTooLong = inSeriesMs >= LIMITS.plegThresholdMs;
  const beyond = isTooLong ? ', longer than its threshold of 3m0s' : '';
  const words = `to ask for all pods one by one, as a kubelet does after it starts, takes ${formatMs(inSeriesMs)}${beyond}`;
  return { isLong, isTooLong, evidence: isLong ? [words] : [] };
}
