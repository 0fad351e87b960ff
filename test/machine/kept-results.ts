import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

import { type ImageName } from './image-recipe.js';
import { type MachineResult, type TestResult } from './machine-result.js';
import { formatGuardsPage, formatMachinePage } from './results-page.js';
import { type Suite } from './suites.js';

const execute = promisify(execFile);

/** Relative to the project. */
export const RESULTS_FILE = 'docs/results/machine.json';
const RESULTS_PAGE = 'docs/results/machine.md';
const GUARDS_PAGE = 'docs/results/guards.md';

/** What earlier runs came to; nothing when there is no such file. */
export async function readResults(file: string): Promise<MachineResult[]> {
  const text = await readFile(file, 'utf8').catch(() => '[]');
  return JSON.parse(text) as MachineResult[];
}

/** The commit that is checked out, with a `+` where files differ from it; results themselves do not count. */
export async function readCommit(): Promise<string> {
  const head = (await git('rev-parse', '--short=8', 'HEAD')).trim();
  const changes = await git('status', '--porcelain', '--', '.', ':!docs/results');
  return changes.trim() === '' ? head : `${head}+`;
}

/** The results with these in the place of all older ones of the same suite on the same image. */
export function mergeResults(
  before: readonly MachineResult[],
  results: readonly TestResult[],
  about: { image: ImageName; suite: string; date: string; commit: string },
): MachineResult[] {
  const others = before.filter(({ image, suite }) => image !== about.image || suite !== about.suite);
  const added = results.map((result) => ({ ...about, ...result }));
  const keyOf = ({ image, suite }: MachineResult): string => `${image} ${suite}`;
  return [...others, ...added].sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}

/** Adds the results of one suite to the file, and makes the page again. */
export async function keepResults(
  results: readonly TestResult[],
  about: { image: ImageName; suite: string; commit: string },
): Promise<void> {
  const date = new Date().toISOString().slice(0, 10);
  const merged = mergeResults(await readResults(RESULTS_FILE), results, { ...about, date });
  await writeFile(RESULTS_FILE, `${JSON.stringify(merged, undefined, 1)}\n`);
  await writeFile(RESULTS_PAGE, await formatMachinePage(merged));
  await writeFile(GUARDS_PAGE, await formatGuardsPage(merged));
}

/**
 * Whether all tests of the suite passed on that image at a commit since which nothing that the suite depends on has
 * changed, neither in a commit nor in the working tree.
 */
export async function isDone(
  suite: Suite,
  image: ImageName,
  results: readonly MachineResult[],
  hasChanged: (commit: string, paths: readonly string[]) => Promise<boolean> = hasChangedSince,
): Promise<boolean> {
  const own = results.filter((result) => result.image === image && result.suite === suite.name);
  if (own.length === 0 || own.some(({ verdict }) => verdict !== 'passed')) return false;
  for (const commit of new Set(own.map((result) => result.commit))) {
    if (commit.endsWith('+') || (await hasChanged(commit, suite.dependsOn))) return false;
  }
  return true;
}

/** An unknown commit, such as one that was rebased, counts as another state of everything. */
async function hasChangedSince(commit: string, paths: readonly string[]): Promise<boolean> {
  return git('diff', '--quiet', commit, '--', ...paths).then(
    () => false,
    () => true,
  );
}

async function git(...args: readonly string[]): Promise<string> {
  return (await execute('git', [...args], { maxBuffer: 64 * 1024 * 1024 })).stdout;
}
