/**
 * What every scenario is made of: a name, what it needs, its settings, and how it is run.
 *
 * In: settings from the command line. Out: figures for the JSON, a text for the page, plots, and goals held against what
 * was measured. A scenario measures both sides of each comparison in one run, in turns; it promises nothing absolute.
 *
 * @module
 */
import { type Release } from '../test/containerd/harness/installed.js';
import { type Goal } from './goals.js';
import { type Plot } from './plot.js';
import { type Progress } from './progress.js';
import { type SettingShape } from './setting-shapes.js';

/** Something that can be set on the command line, as `--name value`. */
export interface Setting {
  readonly name: string;
  /** What follows the name in the help: N, MS, R,R. */
  readonly placeholder: string;
  readonly about: string;
  /** What its value has to look like; {@link ANY_COUNT} unless told. */
  readonly takes?: SettingShape;
  readonly short: string;
  /** With --full; as `short` unless told. */
  readonly full?: string;
}

/** What must be there for a scenario to run; `build` is the built program, as users run it. */
export type Need = 'root' | 'build' | 'containerd' | 'kubelet' | 'control plane' | 'browser';

/** What a long scenario has found so far, part by part: it goes on from there when it was interrupted. */
export interface FoundParts {
  /** What was kept under that name, as JSON gives it back; undefined when nothing was. */
  find(name: string): unknown;
  keep(name: string, part: unknown): Promise<void>;
}

/** What a scenario is given. */
export interface ScenarioContext {
  readonly full: boolean;
  readonly progress: Progress;
  /** Ctrl-C. */
  readonly signal: AbortSignal;
  /** For those that take long: what was found before they were interrupted. */
  readonly parts: FoundParts;
  /** The value of one of its settings. */
  readonly setting: (name: string) => string;
}

/** What came out. */
export interface Outcome {
  /** Everything that was measured, as JSON. */
  readonly figures: unknown;
  /** Markdown: what was measured against what, and tables. */
  readonly text: string;
  readonly goals: readonly Goal[];
  readonly plots?: readonly Plot[];
}

/** A scenario. */
export interface Scenario {
  /** On the command line, and of its files of results. */
  readonly name: string;
  /** Its heading on the page. */
  readonly title: string;
  readonly about: string;
  /** The runtimes that it measures on. */
  readonly runtimes: string;
  readonly needs: readonly Need[];
  /** What it takes with --full on a quiet machine of two cores, in minutes. */
  readonly fullMinutes: number;
  readonly settings: readonly Setting[];
  /** The releases of containerd that it runs on, by its settings; it runs on none unless told. */
  readonly releases?: (setting: ScenarioContext['setting']) => readonly Release[];
  /** Its agents join a cluster, so that its figures depend on what only such agents load. */
  readonly joinsCluster?: boolean;
  run(context: ScenarioContext): Promise<Outcome>;
}

/** A whole number above 0. Throws for anything else: what is told on the command line was checked before. */
export function toCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new Error(`"${text}" is not a whole number above 0`);
  return count;
}

/** Several of them, with commas between. */
export function toCounts(text: string): number[] {
  return text.split(',').map(toCount);
}
