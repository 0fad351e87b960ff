import { format } from 'prettier';
import { expect, it } from 'vitest';
import { formatConformancePage, pageNameOf, parsePassed } from './conformance-page.js';
import { type SpecResult } from './spec-report.js';

const RESULTS: readonly SpecResult[] = [
  { path: ['A', 'one', 'works'], conformance: true, state: 'passed', message: '', place: 'a.go:1' },
  {
    path: ['A', 'one', 'breaks'],
    conformance: false,
    state: 'failed',
    message: 'got 3\nwant 4',
    place: 'a.go:2',
  },
  { path: ['B', 'Uid|Username'], conformance: true, state: 'passed', message: '', place: 'b.go:1' },
  { path: ['NRI', 'hooks'], conformance: false, state: 'skipped', message: 'no socket', place: 'n.go:1' },
];
const FACTS = { date: '2026-11-21', suiteVersion: 'v1.36', kernel: '6.18', cgroups: 'cgroup v1' };

it('writes every spec with what became of it, and the sums', () => {
  const page = formatConformancePage(RESULTS, FACTS);
  expect(page).toContain('| `[Conformance]` | 2      | 2   |');
  expect(page).toContain('| all             | 2      | 4   |');
  expect(page).toContain('| one: works | C | pass |');
  expect(page).toContain('| one: breaks |  | **not passed**: got 3 |');
  expect(page).toContain('| hooks |  | skipped: there is no Node Resource Interface');
});

it('finds the passed specs again in what it wrote, formatted or not', async () => {
  const passed = RESULTS.filter(({ state }) => state === 'passed').map(pageNameOf);
  const page = formatConformancePage(RESULTS, FACTS);
  expect([...parsePassed(page)]).toEqual(passed);
  expect([...parsePassed(await format(page, { parser: 'markdown' }))]).toEqual(passed);
});
