import { MetricType } from '../../cri/generated/runtime/v1/cri.js';

/** One value of a metric, and the values of the labels that it has beside the usual ones. */
export interface Sample {
  readonly value: bigint | undefined;
  readonly labels: readonly string[];
}

/** One metric about a kind of thing. */
export interface MetricRow<F> {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  /** Labels beside {@link COMMON_LABELS}. */
  readonly labels: readonly string[];
  readonly read: (facts: F) => readonly Sample[];
}

/** The labels that every metric has, in front of its own. */
export const COMMON_LABELS = ['container', 'id', 'image', 'name', 'namespace', 'pod'] as const;

function one<F>(
  type: MetricType,
  name: string,
  help: string,
  read: (facts: F) => bigint | undefined,
): MetricRow<F> {
  return { name, help, type, labels: [], read: (facts) => [{ value: read(facts), labels: [] }] };
}

/** A count that only grows, without labels of its own. */
export function counter<F>(name: string, help: string, read: (facts: F) => bigint | undefined): MetricRow<F> {
  return one(MetricType.COUNTER, name, help, read);
}

/** A value that rises and falls, without labels of its own. */
export function gauge<F>(name: string, help: string, read: (facts: F) => bigint | undefined): MetricRow<F> {
  return one(MetricType.GAUGE, name, help, read);
}
