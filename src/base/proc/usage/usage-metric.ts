/** One value of a metric, and the values of the labels that it has beside the usual ones. */
export interface UsageSample {
  readonly value: bigint | undefined;
  readonly labels: readonly string[];
}

/** One metric about a kind of thing. */
export interface UsageMetric<F> {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  /** How many of what `read` gives make one of the metric's own unit: 1e9 where nanoseconds become seconds. */
  readonly divisor: bigint;
  /** Labels beside {@link COMMON_LABELS}. */
  readonly labels: readonly string[];
  /** The one version of cgroups that counts it (default: both do). */
  readonly cgroupVersion?: 1 | 2;
  readonly read: (facts: F) => readonly UsageSample[];
}

/** The labels that every metric has, in front of its own. */
export const COMMON_LABELS = ['container', 'id', 'image', 'name', 'namespace', 'pod'] as const;

function one<F>(
  type: UsageMetric<F>['type'],
  name: string,
  help: string,
  read: (facts: F) => bigint | undefined,
  divisor = 1n,
): UsageMetric<F> {
  return { name, help, type, divisor, labels: [], read: (facts) => [{ value: read(facts), labels: [] }] };
}

/** A count that only grows, without labels of its own. */
export function counter<F>(
  name: string,
  help: string,
  read: (facts: F) => bigint | undefined,
  divisor?: bigint,
): UsageMetric<F> {
  return one('counter', name, help, read, divisor);
}

/** The same metric where version 2 of cgroups counts it, and only there. */
export function onVersion2<F>(metric: UsageMetric<F>): UsageMetric<F> {
  return { ...metric, cgroupVersion: 2 };
}

/** A value that rises and falls, without labels of its own. */
export function gauge<F>(
  name: string,
  help: string,
  read: (facts: F) => bigint | undefined,
  divisor?: bigint,
): UsageMetric<F> {
  return one('gauge', name, help, read, divisor);
}
