import { type Expression, type Matching, type Selector } from './expression.js';
import { ScrapedSeries } from './scraped-series.js';

/** One value of a result, without a name. */
export interface VectorElement {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

type Value = number | readonly VectorElement[];

/**
 * The value of an expression at a time, as Prometheus computes it: a number, or a vector.
 *
 * Source: https://prometheus.io/docs/prometheus/latest/querying/operators/ and …/functions/
 */
export function evaluate(expression: Expression, series: ScrapedSeries, atMs: number): Value {
  const inner = (of: Expression): Value => evaluate(of, series, atMs);
  switch (expression.kind) {
    case 'number':
      return expression.value;
    case 'selector':
      return series.find(expression).flatMap((each) => {
        const value = ScrapedSeries.valueAt(each, atMs);
        return value === undefined ? [] : [{ labels: each.labels, value }];
      });
    case 'aggregation':
      return aggregate(expression, toVector(inner(expression.of)));
    case 'binary':
      return combine(expression, inner(expression.left), inner(expression.right));
    case 'call':
      return call(expression.name, expression.args, { series, atMs, inner });
  }
}

interface CallContext {
  readonly series: ScrapedSeries;
  readonly atMs: number;
  readonly inner: (of: Expression) => Value;
}

function call(name: string, args: readonly Expression[], { series, atMs, inner }: CallContext): Value {
  const overTime = (read: (points: Points, rangeMs: number) => number | undefined): Value => {
    const selector = args[0] as Selector;
    const { rangeMs } = selector;
    if (rangeMs === undefined) throw new Error(`${name} needs a range`);
    return series.find(selector).flatMap((each) => {
      const points = ScrapedSeries.range(each, atMs, rangeMs);
      const value = points.length === 0 ? undefined : read(points, rangeMs);
      return value === undefined ? [] : [{ labels: each.labels, value }];
    });
  };
  switch (name) {
    case 'time':
      return atMs / 1000;
    case 'rate':
      return overTime((points, rangeMs) => over(increase(points, atMs, rangeMs), rangeMs / 1000));
    case 'increase':
      return overTime((points, rangeMs) => increase(points, atMs, rangeMs));
    case 'changes':
      return overTime(
        (points) => points.filter(({ value }, at) => at > 0 && value !== points[at - 1]!.value).length,
      );
    case 'max_over_time':
      return overTime((points) => Math.max(...points.map(({ value }) => value)));
    case 'absent':
      return toVector(inner(args[0]!)).length > 0 ? [] : [{ labels: {}, value: 1 }];
    case 'histogram_quantile':
      return quantiles(inner(args[0]!) as number, toVector(inner(args[1]!)));
    default:
      throw new Error(`the function ${name} is not among those that the examples use`);
  }
}

type Points = readonly { readonly atMs: number; readonly value: number }[];

/** With what a counter lost by starting anew, and stretched to the ends of the range as Prometheus does. */
function increase(points: Points, atMs: number, rangeMs: number): number | undefined {
  const [first, last] = [points[0]!, points.at(-1)!];
  if (points.length < 2) return undefined;
  let grown = last.value - first.value;
  points.forEach(({ value }, at) => {
    const before = points[at - 1]?.value ?? value;
    if (value < before) grown += before;
  });
  const sampledMs = last.atMs - first.atMs;
  const stepMs = sampledMs / (points.length - 1);
  const reach = (gapMs: number): number => (gapMs < stepMs * 1.1 ? gapMs : stepMs / 2);
  let before = reach(first.atMs - (atMs - rangeMs));
  // A counter cannot have been below zero.
  if (grown > 0 && first.value >= 0) before = Math.min(before, sampledMs * (first.value / grown));
  return (grown * (sampledMs + before + reach(atMs - last.atMs))) / sampledMs;
}

function quantiles(q: number, buckets: readonly VectorElement[]): VectorElement[] {
  const groups = groupBy(buckets, ({ labels }) => without(labels, ['le']));
  return groups.flatMap(({ labels, elements }) => {
    const sorted = elements
      .map(({ labels: { le = '' }, value }) => ({ le: le === '+Inf' ? Infinity : Number(le), count: value }))
      .sort((one, other) => one.le - other.le);
    const total = sorted.at(-1)?.count ?? 0;
    if (total === 0) return [{ labels, value: NaN }];
    const at = sorted.findIndex(({ count }) => count >= q * total);
    const [lower, { le, count }] = [sorted[at - 1] ?? { le: 0, count: 0 }, sorted[at]!];
    if (le === Infinity) return [{ labels, value: lower.le }];
    const share = (q * total - lower.count) / (count - lower.count);
    return [{ labels, value: lower.le + (le - lower.le) * share }];
  });
}

function aggregate(
  { op, by, without: left }: Extract<Expression, { kind: 'aggregation' }>,
  vector: readonly VectorElement[],
): VectorElement[] {
  const keep = ({ labels }: VectorElement): Record<string, string> =>
    left === undefined ? only(labels, by ?? []) : without(labels, left);
  return groupBy(vector, keep).map(({ labels, elements }) => {
    const values = elements.map(({ value }) => value);
    const sum = values.reduce((total, value) => total + value, 0);
    const results: Readonly<Record<string, number>> = {
      ...{ sum, avg: sum / values.length, count: values.length },
      ...{ max: Math.max(...values), min: Math.min(...values) },
    };
    return { labels, value: results[op]! };
  });
}

const COMPARISONS: Readonly<Record<string, (one: number, other: number) => boolean>> = {
  '==': (one, other) => one === other,
  '!=': (one, other) => one !== other,
  '>': (one, other) => one > other,
  '<': (one, other) => one < other,
  '>=': (one, other) => one >= other,
  '<=': (one, other) => one <= other,
};
const ARITHMETIC: Readonly<Record<string, (one: number, other: number) => number>> = {
  '+': (one, other) => one + other,
  '-': (one, other) => one - other,
  '*': (one, other) => one * other,
  '/': (one, other) => one / other,
  '%': (one, other) => one % other,
};

function combine(
  { op, isBool, matching }: Extract<Expression, { kind: 'binary' }>,
  left: Value,
  right: Value,
): Value {
  if (op === 'and' || op === 'or' || op === 'unless')
    return combineSets(op, toVector(left), toVector(right), matching);
  const apply = (one: number, other: number, keep: number): number | undefined => {
    const compares = COMPARISONS[op];
    if (compares === undefined) return ARITHMETIC[op]!(one, other);
    if (isBool) return compares(one, other) ? 1 : 0;
    return compares(one, other) ? keep : undefined;
  };
  if (typeof left === 'number' && typeof right === 'number') return apply(left, right, left) ?? NaN;
  if (typeof right === 'number')
    return keepDefined(toVector(left), ({ value }) => apply(value, right, value));
  if (typeof left === 'number') return keepDefined(right, ({ value }) => apply(left, value, value));
  const others = new Map<string, VectorElement>();
  for (const element of right) {
    const key = keyOf(element.labels, matching);
    if (others.has(key)) throw new Error(`several on the right side of ${op} for ${key}`);
    others.set(key, element);
  }
  return keepDefined(left, ({ labels, value }) => {
    const other = others.get(keyOf(labels, matching));
    return other === undefined ? undefined : apply(value, other.value, value);
  });
}

function combineSets(
  op: 'and' | 'or' | 'unless',
  left: readonly VectorElement[],
  right: readonly VectorElement[],
  matching: Matching,
): VectorElement[] {
  const keysOf = (vector: readonly VectorElement[]): Set<string> =>
    new Set(vector.map(({ labels }) => keyOf(labels, matching)));
  if (op === 'or') {
    const known = keysOf(left);
    return [...left, ...right.filter(({ labels }) => !known.has(keyOf(labels, matching)))];
  }
  const others = keysOf(right);
  return left.filter(({ labels }) => others.has(keyOf(labels, matching)) === (op === 'and'));
}

function keepDefined(
  vector: readonly VectorElement[],
  compute: (element: VectorElement) => number | undefined,
): VectorElement[] {
  return vector.flatMap((element) => {
    const value = compute(element);
    return value === undefined ? [] : [{ labels: element.labels, value }];
  });
}

function groupBy(
  vector: readonly VectorElement[],
  keep: (element: VectorElement) => Record<string, string>,
): { readonly labels: Record<string, string>; readonly elements: VectorElement[] }[] {
  const groups = new Map<string, { labels: Record<string, string>; elements: VectorElement[] }>();
  for (const element of vector) {
    const labels = keep(element);
    const key = JSON.stringify(Object.entries(labels).sort());
    const group = groups.get(key) ?? { labels, elements: [] };
    groups.set(key, group);
    group.elements.push(element);
  }
  return [...groups.values()];
}

function keyOf(labels: Readonly<Record<string, string>>, { on, ignoring }: Matching): string {
  const kept = on === undefined ? without(labels, ignoring ?? []) : only(labels, on);
  return JSON.stringify(Object.entries(kept).sort());
}

function only(labels: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => names.includes(name)));
}

function without(labels: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => !names.includes(name)));
}

function toVector(value: Value): readonly VectorElement[] {
  return typeof value === 'number' ? [{ labels: {}, value }] : value;
}

function over(value: number | undefined, divisor: number): number | undefined {
  return value === undefined ? undefined : value / divisor;
}
