/** One value of a metric, with the values of its additional labels. */
export interface UsageSample {
  readonly value: bigint | undefined;
  readonly labels: readonly string[];
}

/** One metric about a kind of thing. */
export interface UsageMetric<F> {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  /** How many units of `read` are one unit of the metric: 1e9 if nanoseconds become seconds. */
  readonly divisor: bigint;
  /** Labels in addition to {@link COMMON_LABELS}. */
  readonly labels: readonly string[];
  /** The only version of cgroups that counts it (default: both). */
  readonly cgroupVersion?: 1 | 2;
  readonly read: (facts: F) => readonly UsageSample[];
}

/** The labels of every metric, before its own. */
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

/** A counter without additional labels. */
export function counter<F>(
  name: string,
  help: string,
  read: (facts: F) => bigint | undefined,
  divisor?: bigint,
): UsageMetric<F> {
  return one('counter', name, help, read, divisor);
}

/** The same metric, but only with version 2 of cgroups. */
export function onVersion2<F>(metric: UsageMetric<F>): UsageMetric<F> {
  return { ...metric, cgroupVersion: 2 };
}

/** A gauge without additional labels. */
export function gauge<F>(
  name: string,
  help: string,
  read: (facts: F) => bigint | undefined,
  divisor?: bigint,
): UsageMetric<F> {
  return one('gauge', name, help, read, divisor);
}
