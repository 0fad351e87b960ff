import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { evaluate } from './evaluate.js';
import { type Expression, parseExpression, parsePromDuration } from './expression.js';
import { type ScrapedSeries } from './scraped-series.js';

/** An alert of examples/prometheus. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly expression: Expression;
  readonly forMs: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A recording rule of examples/prometheus. */
export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
  readonly expression: Expression;
  readonly labels: Readonly<Record<string, string>>;
}

interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Record<string, unknown>[] }[];
}

/** The path of a file of examples/. */
export function examplePath(name: string): string {
  return fileURLToPath(new URL(`../../../../examples/${name}`, import.meta.url));
}

function readRules(name: string): Record<string, unknown>[] {
  const file = parse(readFileSync(examplePath(`prometheus/${name}`), 'utf8')) as RuleFile;
  return file.groups.flatMap(({ rules }) => rules);
}

/** The alerts of a file, as they stand in it. */
export function readAlerts(name = 'alerts.yaml'): AlertRule[] {
  return readRules(name).map((rule) => {
    const {
      alert,
      expr,
      for: wait = '0s',
      labels,
      annotations,
    } = rule as unknown as AlertRule & { for?: string };
    return {
      alert,
      expr,
      labels,
      annotations,
      expression: parseExpression(expr),
      forMs: parsePromDuration(wait),
    };
  });
}

/** The recording rules, as they stand in the file. */
export function readRecordingRules(): RecordingRule[] {
  return readRules('recording-rules.yaml').map((rule) => {
    const {
      record,
      expr,
      labels = {},
    } = rule as unknown as Omit<RecordingRule, 'labels'> & {
      labels?: RecordingRule['labels'];
    };
    return { record, expr, labels, expression: parseExpression(expr) };
  });
}

/** Tells of one alert over time whether it is firing: it does once its expression has held for long enough. */
export class AlertState {
  readonly #rule: Pick<AlertRule, 'expression' | 'forMs'>;
  readonly #series: ScrapedSeries;
  #since = new Map<string, number>();

  constructor(rule: Pick<AlertRule, 'expression' | 'forMs'>, series: ScrapedSeries) {
    this.#rule = rule;
    this.#series = series;
  }

  /** Whether it fires, evaluated anew; to be called with times that go on. */
  isFiring(atMs: number): boolean {
    const result = evaluate(this.#rule.expression, this.#series, atMs);
    if (typeof result === 'number') throw new Error('an alert needs a vector');
    const since = new Map<string, number>();
    for (const { labels } of result) {
      const key = JSON.stringify(labels);
      since.set(key, this.#since.get(key) ?? atMs);
    }
    this.#since = since;
    return [...since.values()].some((beganMs) => atMs - beganMs >= this.#rule.forMs);
  }
}
