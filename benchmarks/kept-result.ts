import { type Goal } from './goals.js';
import { type MachineFacts } from './machine-facts.js';
import { type Plot } from './plot.js';

/** One scenario's results, as they are kept. */
export interface KeptResult {
  readonly name: string;
  readonly title: string;
  readonly runtimes: string;
  readonly facts: MachineFacts;
  readonly full: boolean;
  /** Of all sittings. */
  readonly tookSeconds: number;
  /** More than one where it was interrupted and went on later. Earlier results lack it, and tell of the last one only. */
  readonly sittings?: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly goals: readonly Goal[];
  readonly text: string;
  readonly plots: readonly Pick<Plot, 'name' | 'alt'>[];
  readonly figures: unknown;
}

/** What nobody could make a section of the page without. */
const TEXTS = ['title', 'runtimes', 'text'] as const;
const FACT_TEXTS = ['date', 'commit', 'node', 'kernel', 'cpu'] as const;
const FACT_NUMBERS = ['cores', 'memoryGiB', 'loadBefore'] as const;

/**
 * Reads the results of scenario `name`. Throws an Error that says what is wrong with the file. What earlier versions did
 * not write is taken to be none.
 */
export function parseKeptResult(name: string, text: string): KeptResult {
  const kept = asRecord(JSON.parse(text), 'it');
  if (kept['name'] !== name) throw new Error(`it is not of ${name}`);
  for (const each of TEXTS) expectType(kept, each, 'string');
  const facts = asRecord(kept['facts'], 'facts');
  for (const each of FACT_TEXTS) expectType(facts, each, 'string', 'facts.');
  for (const each of FACT_NUMBERS) expectType(facts, each, 'number', 'facts.');
  const { full = false, tookSeconds = 0, settings = {}, goals = [], plots = [] } = kept;
  const result = { ...kept, full, tookSeconds, settings, goals, plots };
  expectType(result, 'full', 'boolean');
  expectType(result, 'tookSeconds', 'number');
  if (kept['sittings'] !== undefined) expectType(kept, 'sittings', 'number');
  const told = asRecord(settings, 'settings');
  for (const each of Object.keys(told)) expectType(told, each, 'string', 'settings.');
  for (const goal of asRecords(goals, 'goals'))
    for (const each of ['what', 'goal', 'measured']) expectType(goal, each, 'string', 'a goal’s ');
  for (const plot of asRecords(plots, 'plots'))
    for (const each of ['name', 'alt']) expectType(plot, each, 'string', 'a plot’s ');
  // Checked above, as far as the page reads it.
  return result as unknown as KeptResult;
}

function asRecord(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${what} is no object`);
  return value as Record<string, unknown>;
}

function asRecords(value: unknown, what: string): Readonly<Record<string, unknown>>[] {
  if (!Array.isArray(value)) throw new Error(`${what} is no list`);
  return value.map((each) => asRecord(each, `one of ${what}`));
}

function expectType(
  record: Readonly<Record<string, unknown>>,
  name: string,
  type: 'string' | 'number' | 'boolean',
  before = '',
): void {
  if (typeof record[name] !== type) throw new Error(`${before}${name} is no ${type}`);
}
