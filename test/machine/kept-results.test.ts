import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { isDone, mergeResults, readResults, RESULTS_FILE } from './kept-results.js';
import { type MachineResult } from './machine-result.js';
import { formatGuardsPage, formatMachinePage } from './results-page.js';
import { type Suite } from './suites.js';

const SUITE: Suite = {
  ...{ name: 'one', files: ['test/one.test.ts'], user: 'root', env: {}, long: false, ownMachine: false },
  ...{
    images: ['debian13'],
    needs: [],
    limitMinutes: 1,
    dependsOn: ['src', 'test/one.test.ts'],
  },
};
const PASSED: MachineResult = {
  ...{ image: 'debian13', suite: 'one', title: 'works', verdict: 'passed', seconds: 2 },
  ...{ date: '2026-11-28', commit: 'abcdef12' },
};
const unchanged = async (): Promise<boolean> => false;
const changed = async (): Promise<boolean> => true;

it('a suite is done when all its tests passed and nothing has changed since', async () => {
  const asked: string[] = [];
  const asks = async (commit: string, paths: readonly string[]): Promise<boolean> => {
    asked.push(`${commit}: ${paths.join(' ')}`);
    return false;
  };
  expect(await isDone(SUITE, 'debian13', [PASSED, { ...PASSED, title: 'more' }], asks)).toBe(true);
  expect(asked).toEqual(['abcdef12: src test/one.test.ts']);
});

it.each([
  ['it never ran', [], unchanged],
  ['it ran on another image', [{ ...PASSED, image: 'containerd2' }], unchanged],
  ['another suite ran', [{ ...PASSED, suite: 'two' }], unchanged],
  ['one test failed', [PASSED, { ...PASSED, verdict: 'failed' }], unchanged],
  ['one test was not judged', [PASSED, { ...PASSED, verdict: 'not judged' }], unchanged],
  ['something has changed', [PASSED], changed],
  ['it passed with changes that no commit has', [{ ...PASSED, commit: 'abcdef12+' }], unchanged],
] as [string, MachineResult[], typeof unchanged][])(
  'a suite is not done when %s',
  async (_, results, asks) => {
    expect(await isDone(SUITE, 'debian13', results, asks)).toBe(false);
  },
);

it('new results of a suite replace all that it had on that image and nothing else', () => {
  const others: MachineResult[] = [
    { ...PASSED, image: 'containerd2' },
    { ...PASSED, suite: 'two' },
  ];
  const about = { image: 'debian13', suite: 'one', date: '2026-11-29', commit: '12345678' } as const;
  const merged = mergeResults(
    [PASSED, { ...PASSED, title: 'renamed since' }, ...others],
    [{ title: 'works', verdict: 'failed', seconds: 3, reason: 'no' }],
    about,
  );
  const added = { ...about, title: 'works', verdict: 'failed', seconds: 3, reason: 'no' };
  expect(merged).toHaveLength(3);
  expect(merged).toEqual(expect.arrayContaining([...others, added]));
});

it('the page counts verdicts for each image and says why a test did not pass', async () => {
  const page = await formatMachinePage([
    PASSED,
    { ...PASSED, title: 'a | b', verdict: 'failed', reason: 'expected <a>\nmore' },
    { ...PASSED, image: 'containerd2', verdict: 'not judged', reason: 'late' },
  ]);
  const cells = page.split('\n').map((line) => line.replaceAll(/ +/g, ' '));
  expect(cells.join('\n')).toMatch(/`debian13`: .* \| 1 \| 1 \| 0 \|/);
  expect(cells.join('\n')).toMatch(/`containerd2`: .* \| 0 \| 0 \| 1 \|/);
  expect(cells).toContain('| a \\| b | **failed**: expected \\<a> | 2 | 2026-11-28 | abcdef12 |');
});

it('the page about guards has every suite of them, those that never ran as well, and is made from the results', async () => {
  const page = await formatGuardsPage([
    { ...PASSED, suite: 'guards' },
    { ...PASSED, suite: 'guards', title: 'more', verdict: 'not judged', date: '2026-11-29' },
  ]);
  const lines = page.split('\n').map((line) => line.replaceAll(/ +/g, ' '));
  const rowOf = (suite: string): string | undefined => lines.find((line) => line.startsWith(`| ${suite} |`));
  expect(rowOf('guards')).toMatch(/\| `debian13` \| 1 passed, 1 not judged \| 2026-11-29, abcdef12 \|$/);
  expect(rowOf('ten shutdowns')).toContain('**not run yet**');
  const kept = await readFile('docs/results/guards.md', 'utf8');
  expect(kept).toBe(await formatGuardsPage(await readResults(RESULTS_FILE)));
});
