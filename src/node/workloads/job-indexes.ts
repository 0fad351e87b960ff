/**
 * What becomes of single indexes of an indexed Job: which have failed, when the next pod of one is due, and whether those
 * that have succeeded are enough. Pure: all of it follows from the entries of pods.
 *
 * Source: https://github.com/kubernetes/enhancements/tree/master/keps/sig-apps/3850-backoff-limits-per-index-for-indexed-jobs and
 * https://github.com/kubernetes/enhancements/tree/master/keps/sig-apps/3998-job-success-completion-policy
 *
 * @module
 */
import { countIndexes, parseIndexRanges } from '#kube/workloads/index-ranges.js';
import { type JobSpec } from '#kube/workloads/workload.js';
import { type PodEntry } from './workload-record.js';

/** The failures of one index. */
export interface IndexFailures {
  /** Those that count towards backoffLimitPerIndex. */
  readonly counted: number;
  /** Those that a rule of podFailurePolicy leaves out; a new pod waits for them all the same. */
  readonly ignored: number;
  readonly lastEndedAtMs: number;
  /** It gets no more pods. */
  readonly isFailed: boolean;
}

/** The failures of each index that has any, by index. */
export function failuresByIndex(
  pods: readonly PodEntry[],
  limit: number,
): ReadonlyMap<number, IndexFailures> {
  const found = new Map<number, IndexFailures>();
  for (const { index = 0, end, isIgnored, deletedAtMs, endedAtMs = 0, failsIndex } of pods) {
    // What the Job itself took away says nothing about its index.
    if (end !== 'Failed' || deletedAtMs !== undefined) continue;
    const before = found.get(index) ?? { counted: 0, ignored: 0, lastEndedAtMs: 0, isFailed: false };
    const counted = before.counted + (isIgnored === true ? 0 : 1);
    found.set(index, {
      counted,
      ignored: before.ignored + (isIgnored === true ? 1 : 0),
      lastEndedAtMs: Math.max(before.lastEndedAtMs, endedAtMs),
      isFailed: before.isFailed || failsIndex === true || counted > limit,
    });
  }
  return found;
}

/** The indexes that have failed, in order; undefined where failures count for the whole Job. */
export function failedIndexesOf(
  pods: readonly PodEntry[],
  { completionMode, backoffLimitPerIndex }: Pick<JobSpec, 'completionMode' | 'backoffLimitPerIndex'>,
): readonly number[] | undefined {
  if (completionMode !== 'Indexed' || backoffLimitPerIndex === undefined) return undefined;
  return [...failuresByIndex(pods, backoffLimitPerIndex)]
    .filter(([, { isFailed }]) => isFailed)
    .map(([index]) => index)
    .sort((one, other) => one - other);
}

/** Why the indexes that have succeeded are enough, in Kubernetes' words; undefined where they are not. */
export function matchSuccessPolicy(
  { successPolicy, completions = 0 }: Pick<JobSpec, 'successPolicy' | 'completions'>,
  succeeded: readonly number[],
): string | undefined {
  if (succeeded.length === 0) return undefined;
  const at = (successPolicy?.rules ?? []).findIndex(({ succeededIndexes, succeededCount = Infinity }) => {
    if (succeededIndexes === undefined) return succeeded.length >= succeededCount;
    const ranges = parseIndexRanges(succeededIndexes, completions);
    const wanted = countIndexes(ranges);
    const met = succeeded.filter((index) =>
      ranges.some(({ first, last }) => index >= first && index <= last),
    );
    return wanted > 0 && (met.length === wanted || met.length >= succeededCount);
  });
  return at === -1 ? undefined : `Matched rules at index ${at}`;
}
