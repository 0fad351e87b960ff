/**
 * What benchmarks leave behind: a JSON file for each scenario, its plots, and one page that is made of all of them.
 *
 * The page is made anew from the files each time, so a scenario that was run alone changes only its own part.
 *
 * @module
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { verdictOf } from './goals.js';
import { type KeptResult, parseKeptResult } from './kept-result.js';
import { formatMachineFacts } from './machine-facts.js';
import { summarizeResults } from './results-summary.js';
import { listUnusual } from './run-plan.js';
import { type Outcome, type Scenario } from './scenario.js';
import { formatTable } from './text-table.js';
import { writeWhole } from './write-whole.js';

/** What of a run is kept besides its outcome. */
export interface RunFacts extends Pick<
  KeptResult,
  'facts' | 'full' | 'tookSeconds' | 'sittings' | 'settings'
> {
  readonly scenario: Pick<Scenario, 'name' | 'title' | 'runtimes'>;
}

/** A folder with results, and the page beside it. */
export class ResultsFolder {
  readonly #folder: string;
  readonly #onSkipped: (file: string, why: string) => void;
  readonly #skipped = new Set<string>();

  /** `folder` holds RESULTS.md, results/ and plots/; `onSkipped` is told once of each file that cannot be used. */
  constructor(
    folder: string,
    { onSkipped = () => undefined }: { readonly onSkipped?: (file: string, why: string) => void } = {},
  ) {
    this.#folder = folder;
    this.#onSkipped = onSkipped;
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

  /** What is kept, by name. A file that cannot be used costs no other its place on the page. */
  async read(): Promise<Map<string, KeptResult>> {
    const folder = path.join(this.#folder, 'results');
    const files = await readdir(folder).catch(() => []);
    const results = new Map<string, KeptResult>();
    for (const file of files.filter((each) => each.endsWith('.json')).toSorted()) {
      const name = path.basename(file, '.json');
      try {
        results.set(name, parseKeptResult(name, await readFile(path.join(folder, file), 'utf8')));
      } catch (error) {
        this.#describeSkipped(path.join(folder, file), error);
      }
    }
    return results;
  }

  #describeSkipped(file: string, error: unknown): void {
    if (this.#skipped.has(file)) return;
    this.#skipped.add(file);
    this.#onSkipped(file, error instanceof Error ? error.message : String(error));
  }

  /** Writes the page anew, with the scenarios in the order given. */
  async writePage(scenarios: readonly PageScenario[]): Promise<void> {
    await writeWhole(path.join(this.#folder, 'RESULTS.md'), formatPage(scenarios, await this.read()));
  }
}

/** What the page says of a scenario besides its results. */
export type PageScenario = Pick<Scenario, 'name' | 'title' | 'settings'>;

/** The page, of results by the name of their scenario. */
function formatPage(scenarios: readonly PageScenario[], results: ReadonlyMap<string, KeptResult>): string {
  const known = scenarios.flatMap(({ name }) => results.get(name) ?? []);
  const missing = scenarios.filter(({ name }) => !results.has(name));
  const parts = [
    '# Results',
    summarizeResults(known, missing),
    `Written by \`npm run bench\`. Absolute figures belong to the machine and the hour: compare within a section only. Brackets hold
95 % intervals, or of a few turns the least and the largest ratio, where a section says so; a goal for a ratio is met when the end of its interval that is worse meets it.
Each section is of the commit that it names, not of what the program has become since: \`npm run bench -- --page\` counts what has changed.`,
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
  { title, runtimes, facts, full, tookSeconds, sittings = 1, settings, text, plots }: KeptResult,
  scenario: PageScenario,
): string[] {
  const unusual = listUnusual(scenario, settings);
  // What a full run is may have changed since.
  const than = full ? 'not as a full run is today' : 'not as in a full run';
  const otherwise = unusual.length === 0 ? '' : ` (${than}: \`${unusual.join(' ')}\`)`;
  const minutes = Math.max(1, Math.round(tookSeconds / 60));
  const interrupted = sittings > 1 ? ` in ${sittings} sittings` : '';
  return [
    `## ${title}`,
    `${formatMachineFacts(facts)}; ${full ? 'full run' : 'short run'}${otherwise}, ${minutes} min${interrupted}. Runtimes: ${runtimes}.`,
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
