/**
 * What becomes of single indexes of an indexed Job: which have failed, when the next pod of one is due, and whether those
 * that have succeeded are enough. Pure: all of it follows from the entries of pods.
 *
 * Source: https://github.com/kubernetes/enhancements/tree/master/keps/sig-apps/3850-backoff-limits-per-index-for-indexed-jobs and
 * https://github.com/kubernetes/enhancements/tree/master/keps/sig-apps/3998-job-success-completion-policy
 *
 * @module
 */
import {
  countIndexes,
  countIndexesWithin,
  type IndexRange,
  parseIndexRanges,
} from '#kube/workloads/index-ranges.js';
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

type SuccessPolicy = NonNullable<JobSpec['successPolicy']>;

/** What a rule of a success policy asks for. */
interface ParsedRule {
  /** Undefined where it is any index. */
  readonly ranges: readonly IndexRange[] | undefined;
  /** How many indexes are in the ranges. */
  readonly size: number;
  readonly succeededCount: number;
}

interface ParsedPolicy {
  readonly completions: number;
  readonly rules: readonly ParsedRule[];
}

/** A policy may have 20 rules of many thousand ranges, and each reconciliation asks. */
const PARSED_POLICIES = new WeakMap<SuccessPolicy, ParsedPolicy>();

/**
 * Why the indexes that have succeeded are enough, in Kubernetes' words; undefined where they are not.
 *
 * `succeeded` is in order.
 */
export function matchSuccessPolicy(
  { successPolicy, completions = 0 }: Pick<JobSpec, 'successPolicy' | 'completions'>,
  succeeded: readonly number[],
): string | undefined {
  if (successPolicy === undefined || succeeded.length === 0) return undefined;
  const rules = parsePolicy(successPolicy, completions);
  const at = rules.findIndex(({ ranges, size, succeededCount }) => {
    if (ranges === undefined) return succeeded.length >= succeededCount;
    const met = countIndexesWithin(ranges, succeeded);
    return size > 0 && (met === size || met >= succeededCount);
  });
  return at === -1 ? undefined : `Matched rules at index ${at}`;
}

function parsePolicy(policy: SuccessPolicy, completions: number): readonly ParsedRule[] {
  const known = PARSED_POLICIES.get(policy);
  if (known?.completions === completions) return known.rules;
  const rules = policy.rules.map(({ succeededIndexes, succeededCount = Infinity }): ParsedRule => {
    const ranges =
      succeededIndexes === undefined ? undefined : parseIndexRanges(succeededIndexes, completions);
    return { ranges, size: countIndexes(ranges ?? []), succeededCount };
  });
  PARSED_POLICIES.set(policy, { completions, rules });
  return rules;
}
