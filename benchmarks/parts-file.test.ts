import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PartsFile, partsFileOf } from './parts-file.js';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'podloop-parts-'));
  file = path.join(folder, 'below', 'kubelet.json');
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

const run = {
  ...{ commit: 'abc', machine: '2 × EPYC', settings: { turns: '1', mass: '20' } },
  versions: { kubelet: 'v1.37.2' },
};

it('gives back what a run that was interrupted had found', async () => {
  const before = await PartsFile.open(file, run, false);
  await before.keep('one', { deaths: [1, 2] });
  await before.keep('two', { deaths: [3] });
  const after = await PartsFile.open(file, { ...run, settings: { mass: '20', turns: '1' } }, true);
  expect(after.find('one')).toEqual({ deaths: [1, 2] });
  expect(after.find('two')).toEqual({ deaths: [3] });
  expect(after.find('three')).toBeUndefined();
});

it.each([
  ['unless asked to', run, false],
  ['of another commit', { ...run, commit: 'def' }, true],
  ['of files that are in no commit', { ...run, commit: 'abc+' }, true],
  ['of another kubelet', { ...run, versions: { kubelet: 'v1.37.0' } }, true],
  ['of another machine', { ...run, machine: '2 × Xeon' }, true],
  ['of other settings', { ...run, settings: { ...run.settings, mass: '200' } }, true],
])('takes up nothing %s', async (_, other, resume) => {
  const before = { ...run, commit: other.commit.endsWith('+') ? other.commit : run.commit };
  await (await PartsFile.open(file, before, false)).keep('one', 1);
  expect((await PartsFile.open(file, other, resume)).find('one')).toBeUndefined();
});

it('counts the sittings in which something was found, and how busy the machine was before each', async () => {
  const first = await PartsFile.open(file, run, true, 0.25);
  expect(first.sittings).toEqual([{ tookSeconds: 0, loadBefore: 0.25 }]);
  await first.keep('one', 1);
  // Interrupted before it found anything.
  await PartsFile.open(file, run, true, 2);
  const last = await PartsFile.open(file, run, true, 0.5);
  expect(last.sittings.map(({ loadBefore }) => loadBefore)).toEqual([0.25, 0.5]);
  expect((await PartsFile.open(file, run, false, 1)).sittings.length).toBe(1);
});

it('begins anew where the file is none of its own, and where it was removed', async () => {
  const parts = await PartsFile.open(file, run, false);
  await parts.keep('one', 1);
  await writeFile(file, '{"run":');
  expect((await PartsFile.open(file, run, true)).find('one')).toBeUndefined();
  await parts.remove();
  await parts.remove();
  expect((await PartsFile.open(file, run, true)).find('one')).toBeUndefined();
});

it('has another file for each length and each set of settings', () => {
  const files = [
    partsFileOf(folder, 'kubelet', true, { turns: '1', mass: '20' }),
    partsFileOf(folder, 'kubelet', false, { turns: '1', mass: '20' }),
    partsFileOf(folder, 'kubelet', true, { turns: '2', mass: '20' }),
    partsFileOf(folder, 'cluster', true, { turns: '1', mass: '20' }),
  ];
  expect(new Set(files).size).toBe(files.length);
  expect(partsFileOf(folder, 'kubelet', true, { mass: '20', turns: '1' })).toBe(files[0]);
});
