/**
 * What benchmarks leave behind: a JSON file for each scenario, its plots, and one page that is made of all of them.
 *
 * The page is made anew from the files each time, so a scenario that was run alone changes only its own part.
 *
 * @module
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Goal, verdictOf } from './goals.js';
import { formatMachineFacts, type MachineFacts } from './machine-facts.js';
import { type Plot } from './plot.js';
import { listUnusual } from './run-plan.js';
import { type Outcome, type Scenario } from './scenario.js';
import { formatTable } from './text-table.js';
import { writeWhole } from './write-whole.js';

/** One scenario's results, as they are kept. */
export interface KeptResult {
  readonly name: string;
  readonly title: string;
  readonly runtimes: string;
  readonly facts: MachineFacts;
  readonly full: boolean;
  readonly tookSeconds: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly goals: readonly Goal[];
  readonly text: string;
  readonly plots: readonly Pick<Plot, 'name' | 'alt'>[];
  readonly figures: unknown;
}

/** What of a run is kept besides its outcome. */
export interface RunFacts extends Pick<KeptResult, 'facts' | 'full' | 'tookSeconds' | 'settings'> {
  readonly scenario: Pick<Scenario, 'name' | 'title' | 'runtimes'>;
}

/** A folder with results, and the page beside it. */
export class ResultsFolder {
  readonly #folder: string;

  /** `folder` holds RESULTS.md, results/ and plots/. */
  constructor(folder = 'benchmarks') {
    this.#folder = folder;
  }

  /** Keeps what one scenario found, in place of what it found before. */
  async keep(run: RunFacts, { goals, text, plots = [], figures }: Outcome): Promise<void> {
    const { scenario, ...facts } = run;
    const { name, title, runtimes } = scenario;
    const named = plots.map(({ name: plot, alt }) => ({ name: plot, alt }));
    const kept: KeptResult = { name, title, runtimes, ...facts, goals, text, plots: named, figures };
    for (const folder of ['results', 'plots'])
      await mkdir(path.join(this.#folder, folder), { recursive: true });
    for (const plot of plots) await writeFile(path.join(this.#folder, 'plots', `${plot.name}.svg`), plot.svg);
    await writeWhole(path.join(this.#folder, 'results', `${name}.json`), formatJson(kept));
  }

  /** What is kept, by name. */
  async read(): Promise<Map<string, KeptResult>> {
    const folder = path.join(this.#folder, 'results');
    const names = await readdir(folder).catch(() => []);
    const results = new Map<string, KeptResult>();
    for (const name of names.filter((each) => each.endsWith('.json'))) {
      const kept = JSON.parse(await readFile(path.join(folder, name), 'utf8')) as Partial<KeptResult>;
      // What an earlier version wrote has no text.
      if (kept.name !== undefined && kept.text !== undefined) results.set(kept.name, kept as KeptResult);
    }
    return results;
  }

  /** Writes the page anew, with the scenarios in the order given. */
  async writePage(scenarios: readonly PageScenario[]): Promise<void> {
    await writeWhole(path.join(this.#folder, 'RESULTS.md'), formatPage(scenarios, await this.read()));
  }
}

/** What the page says of a scenario besides its results. */
export type PageScenario = Pick<Scenario, 'name' | 'title' | 'settings'>;

/** The page, of results by the name of their scenario. */
export function formatPage(
  scenarios: readonly PageScenario[],
  results: ReadonlyMap<string, KeptResult>,
): string {
  const known = scenarios.flatMap(({ name }) => results.get(name) ?? []);
  const missing = scenarios.filter(({ name }) => !results.has(name));
  const parts = [
    '# Results',
    `Written by \`npm run bench\`. Absolute figures belong to the machine and the hour: compare within a section only. Brackets hold
95 % intervals; a goal for a ratio is met when the end of its interval that is worse meets it.`,
    '## Goals',
    formatGoals(known),
    ...(missing.length === 0
      ? []
      : [
          formatTable(
            ['scenario', 'results'],
            missing.map(({ title }) => [title, 'not run yet']),
          ),
        ]),
    ...scenarios.flatMap((scenario) => {
      const kept = results.get(scenario.name);
      return kept === undefined ? [] : formatSection(kept, scenario);
    }),
  ];
  return `${parts.map((part) => part.trim()).join('\n\n')}\n`;
}

/** A table of goals, for the page and for the terminal. */
export function formatGoals(results: readonly Pick<KeptResult, 'title' | 'goals' | 'full'>[]): string {
  const rows = results.flatMap(({ title, goals, full }) =>
    goals.map((each) => {
      const { what, goal, measured, met } = each;
      const word = met === false ? '**no**' : verdictOf(each);
      return [title, what, goal, measured, met === undefined || full ? word : `${word}, short run`];
    }),
  );
  if (rows.length === 0) return 'None were judged.';
  return formatTable(['scenario', 'what', 'goal', 'measured', 'met'], rows);
}

function formatSection(
  { title, runtimes, facts, full, tookSeconds, settings, text, plots }: KeptResult,
  scenario: PageScenario,
): string[] {
  const unusual = listUnusual(scenario, settings);
  const otherwise = unusual.length === 0 ? '' : ` (not as in a full run: \`${unusual.join(' ')}\`)`;
  const minutes = Math.max(1, Math.round(tookSeconds / 60));
  return [
    `## ${title}`,
    `${formatMachineFacts(facts)}; ${full ? 'full run' : 'short run'}${otherwise}, ${minutes} min. Runtimes: ${runtimes}.`,
    text,
    ...plots.map(({ name, alt }) => `![${alt}](plots/${name}.svg)`),
  ];
}

/** Readable, with lists of numbers on one line: there are thousands of them. */
function formatJson(value: unknown): string {
  const text = JSON.stringify(
    value,
    (_, each: unknown) => (typeof each === 'number' ? rounded(each) : each),
    2,
  );
  return `${text.replace(/\[\s+((?:-?[\d.e+-]+|null)(?:,\s+(?:-?[\d.e+-]+|null))*)\s+\]/g, (_, list: string) => `[${list.replaceAll(/\s+/g, ' ')}]`)}\n`;
}

/** Six digits say all that was measured. */
function rounded(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(6));
}
