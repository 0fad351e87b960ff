import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { type ImageName, IMAGES } from './image-recipe.js';
import { type MachineResult, type Verdict } from './machine-result.js';
import { sampleSuites } from './suite-sample.js';
import { chooseSuites, listSuites, planSuites, suiteCommand } from './suites.js';

const PROJECT = path.resolve(import.meta.dirname, '../..');
const suites = listSuites(PROJECT);

it('every suite has a name of its own, and files that exist', () => {
  const names = suites.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const files = suites.flatMap((suite) => [...suite.files, ...suite.dependsOn]);
  expect(files.filter((file) => !file.startsWith(':') && !existsSync(path.join(PROJECT, file)))).toEqual([]);
});

it('every test that is written for the machine is in a suite', () => {
  const inside = readdirSync(path.join(PROJECT, 'test/machine/inside')).filter((file) =>
    file.endsWith('.test.ts'),
  );
  const named = new Set(suites.flatMap(({ files }) => files));
  expect(inside.filter((file) => !named.has(`test/machine/inside/${file}`))).toEqual([]);
});

it('every story is played by exactly one suite of the runtime in the box as root', () => {
  const stories = readdirSync(path.join(PROJECT, 'test/stories'))
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.replace(/\.yaml$/, ''));
  const played = chooseSuites(suites, ['box as root']).flatMap(({ env }) => env['PODLOOP_STORY']!.split(','));
  expect([...played].sort()).toEqual(stories.sort());
});

it('suites of containerd and of power run on both images, those of the runtime in the box on one', () => {
  const plan = planSuites(suites, IMAGES);
  expect(new Set(plan.map(({ image, suite }) => `${image} ${suite.name}`)).size).toBe(plan.length);
  const imagesOf = (name: string): string[] =>
    plan.filter(({ suite }) => suite.name === name).map(({ image }) => image);
  expect(suites.filter(({ name }) => imagesOf(name).length === 0)).toEqual([]);
  for (const { name } of chooseSuites(suites, ['containerd, ', 'power', 'facts', 'cgroup drivers']))
    expect(imagesOf(name)).toEqual(IMAGES);
  for (const { name } of chooseSuites(suites, ['box as root', 'systemd unit']))
    expect(imagesOf(name)).toEqual(['debian13']);
});

it('a word chooses the suite of that name, else all suites that contain it', () => {
  const namesOf = (...only: string[]): string[] => chooseSuites(suites, only).map(({ name }) => name);
  expect(namesOf('cgroups', 'facts')).toEqual(['facts', 'cgroups']);
  expect(namesOf('network').length).toBe(1);
  expect(namesOf('network-').length).toBeGreaterThan(2);
  expect(namesOf()).toHaveLength(suites.length);
  expect(namesOf('no such suite')).toEqual([]);
});

/** As if a run had ended so on an image. */
const resultsOf = (
  image: ImageName,
  names: readonly string[],
  verdict: Verdict = 'passed',
): MachineResult[] =>
  names.map((suite) => ({ image, suite, title: 't', verdict, seconds: 1, date: '2026-11-28', commit: 'c' }));

it('a sample is the same for the same seed, on one image, with the facts about the node first', () => {
  const all = IMAGES.flatMap((image) =>
    resultsOf(
      image,
      suites.map(({ name }) => name),
    ),
  );
  for (let seed = 0; seed < 50; seed++) {
    const plan = sampleSuites(suites, IMAGES, seed, all);
    expect(sampleSuites(suites, IMAGES, seed, all)).toEqual(plan);
    expect(new Set(plan.map(({ image }) => image)).size).toBe(1);
    expect(plan[0]?.suite.name).toBe('facts');
    expect(plan.some(({ suite }) => suite.long || suite.ownMachine)).toBe(false);
  }
  const chosen = Array.from(
    { length: 50 },
    (_, seed) => sampleSuites(suites, IMAGES, seed, all)[1]?.suite.name,
  );
  expect(new Set(chosen).size).toBeGreaterThan(10);
});

it('a sample has only suites that passed as a whole on that image', () => {
  const results = [
    ...resultsOf('debian13', ['facts', 'cgroups', 'stats']),
    ...resultsOf('debian13', ['stats'], 'failed'),
    ...resultsOf('debian13', ['logs'], 'not judged'),
    ...resultsOf('containerd2', ['streaming']),
  ];
  for (let seed = 0; seed < 20; seed++) {
    const plan = sampleSuites(suites, IMAGES, seed, results);
    expect(plan.map(({ image, suite }) => `${image} ${suite.name}`)).toEqual([
      'debian13 facts',
      'debian13 cgroups',
    ]);
  }
  expect(sampleSuites(suites, IMAGES, 1, [])).toEqual([]);
});

it('a suite of an ordinary user runs in that user’s own systemd', () => {
  const [suite] = suites;
  const command = suiteCommand(
    { ...suite!, user: 'ordinary', env: { A: '1' } },
    '/srv/podloop',
    '/tmp/r.json',
  );
  expect(command).toMatch(/^systemd-run --user --machine=ordinary@\.host /);
  expect(command).toMatch(/ --setenv=A=1 .* node --/);
});
