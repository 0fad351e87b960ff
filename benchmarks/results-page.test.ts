import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type MachineFacts } from './machine-facts.js';
import { ResultsFolder } from './results-page.js';

const FACTS: MachineFacts = {
  ...{ date: '2026-01-02T03:04:05.678Z', commit: 'abc', node: 'v20', kernel: 'Linux 6' },
  ...{ cpu: 'CPU', cores: 2, memoryGiB: 24, loadBefore: 0.1 },
};
const scenario = (name: string) => ({
  ...{ name, title: `On ${name}`, runtimes: 'synthetic' },
  settings: [{ name: 'rounds', placeholder: 'N', about: 'x', short: '5', full: '30' }],
});
const run = (name: string, full = true, rounds = '30') => ({
  ...{ scenario: scenario(name), facts: FACTS, full, tookSeconds: 125, settings: { rounds } },
});
const outcome = (text: string, met: boolean | undefined) => ({
  figures: { wallMs: [1.23456789, 2, 3], name: 'x' },
  text,
  goals: [{ what: 'w', goal: '<= 1', measured: '2', met }],
});

let folder: string;
beforeEach(async () => (folder = await mkdtemp(path.join(tmpdir(), 'podloop-results-'))));
afterEach(async () => rm(folder, { recursive: true, force: true }));

it('makes the page of all that is kept, in the order of the scenarios, goals first', async () => {
  const results = new ResultsFolder(folder);
  await results.keep(run('b', false, '5'), outcome('about b', undefined));
  await results.keep(run('a'), {
    ...outcome('what was before', true),
    plots: [{ name: 'a-growth', alt: 'growth', svg: '<svg/>' }],
  });
  await results.keep(run('a'), {
    ...outcome('about a', false),
    plots: [{ name: 'a-growth', alt: 'growth', svg: '<svg/>' }],
  });
  await results.writePage(['a', 'missing', 'b'].map(scenario));
  const page = await readFile(path.join(folder, 'RESULTS.md'), 'utf8');
  expect(page).toMatch(/^# Results\n\n- \*\*Better than the kubelet:\*\* nothing\.\n(?:- \*\*.*\n){4}\n/);
  expect(page.match(/^## .*/gm)).toEqual(['## Goals', '## On a', '## On b']);
  expect(page).toMatch(/On a +\| w +\| <= 1 +\| +2 +\| \*\*no\*\* +\|/);
  expect(page).toMatch(/On b .*not judged/);
  expect(page).toContain('about a');
  expect(page).not.toContain('what was before');
  expect(page).toContain('full run, 2 min. Runtimes: synthetic.');
  expect(page).toContain('short run (not as in a full run: `--rounds 5`), 2 min.');
  expect(page).toMatch(/On missing +\| not run yet/);
  expect(page).toContain('![growth](plots/a-growth.svg)');
  expect(await readFile(path.join(folder, 'plots/a-growth.svg'), 'utf8')).toBe('<svg/>');
});

it('says of a run that was interrupted in how many sittings it was made', async () => {
  const results = new ResultsFolder(folder);
  await results.keep({ ...run('a'), sittings: 2 }, outcome('t', true));
  await results.writePage([scenario('a')]);
  const page = await readFile(path.join(folder, 'RESULTS.md'), 'utf8');
  expect(page).toContain('full run, 2 min in 2 sittings. Runtimes: synthetic.');
});

it('keeps figures readable, and with as many digits as say something', async () => {
  const results = new ResultsFolder(folder);
  await results.keep(run('a'), outcome('t', true));
  const text = await readFile(path.join(folder, 'results/a.json'), 'utf8');
  expect(text).toContain('"wallMs": [1.23457, 2, 3],\n');
  expect((await results.read()).get('a')).toMatchObject({ full: true, settings: { rounds: '30' } });
});

it('passes over a file that cannot be used, names it once, and keeps the others', async () => {
  const skipped: string[] = [];
  const results = new ResultsFolder(folder, {
    onSkipped: (file, why) => skipped.push(`${path.basename(file)}: ${why}`),
  });
  await results.keep(run('a'), outcome('t', true));
  const good = await readFile(path.join(folder, 'results/a.json'), 'utf8');
  const write = async (name: string, text: string) => writeFile(path.join(folder, 'results', name), text);
  await write('broken.json', '{"name": "bro');
  await write('copy.json', good);
  await write('null.json', 'null');
  await write('old.json', '{"name":"old","title":"","runtimes":"","text":"","facts":{},"figures":[]}');
  await write('strange.json', good.replace('"a"', '"strange"').replace(/"goals": \[/, '"goals": [null, '));
  await results.writePage(['a', 'broken', 'null', 'old'].map(scenario));
  expect([...(await results.read()).keys()]).toEqual(['a']);
  expect(await readFile(path.join(folder, 'RESULTS.md'), 'utf8')).toContain('## On a');
  expect(skipped).toEqual([
    expect.stringMatching(/^broken.json: .*JSON/),
    'copy.json: it is not of copy',
    'null.json: it is no object',
    'old.json: facts.date is no string',
    'strange.json: one of goals is no object',
  ]);
});

it('reads what an earlier version wrote without goals and plots', async () => {
  const results = new ResultsFolder(folder);
  await results.keep(run('a'), outcome('about a', true));
  const file = path.join(folder, 'results/a.json');
  const { goals, plots, ...rest } = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  expect([goals, plots]).not.toContain(undefined);
  await writeFile(file, JSON.stringify(rest));
  await results.writePage([scenario('a')]);
  expect(await readFile(path.join(folder, 'RESULTS.md'), 'utf8')).toContain('about a');
});

it('says of a full run of before that it is not as one is today', async () => {
  const results = new ResultsFolder(folder);
  await results.keep(run('a', true, '20'), outcome('about a', true));
  await results.writePage([scenario('a')]);
  expect(await readFile(path.join(folder, 'RESULTS.md'), 'utf8')).toContain(
    'full run (not as a full run is today: `--rounds 20`), 2 min.',
  );
});
