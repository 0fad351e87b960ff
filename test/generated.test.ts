/**
 * Files that are made by a program and committed are as that program makes them.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';
import { readLockedPackages, readPackageJson } from './installed-package.js';
import { listFiles, readText, REPOSITORY } from './source-tree.js';

const run = promisify(execFile);

it('src/watch/cri/generated is what npm run generate makes of proto/', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'podloop-generated-'));
  try {
    await run('npm', ['run', '--silent', 'generate', '--', '--output', folder], { cwd: REPOSITORY });
    const made = path.join(folder, 'src/watch/cri/generated');
    const files = (await readdir(made, { recursive: true })).filter((file) => file.endsWith('.ts')).sort();
    expect(files).toEqual(listFiles('src/watch/cri/generated', '.ts'));
    for (const file of files) {
      const same =
        (await readFile(path.join(made, file), 'utf8')) === readText(`src/watch/cri/generated/${file}`);
      expect(same, `${file} differs: run npm run generate`).toBe(true);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 120_000);

it('package-lock.json names no registry', () => {
  // Whoever installs has a registry; which one was near when the file was written is nobody's business.
  expect(readText('package-lock.json')).not.toMatch(/"resolved"|https?:\/\/[^"]*\.tgz/);
});

it('package-lock.json locks what package.json asks for, and every optional part on every platform', () => {
  const lock = JSON.parse(readText('package-lock.json')) as {
    packages: Record<string, Record<string, unknown>>;
  };
  const { dependencies, devDependencies } = readPackageJson();
  expect(lock.packages['']).toMatchObject({ dependencies, devDependencies });
  const locked = readLockedPackages();
  // Without the entries of other platforms npm ci refuses the whole file there, and here.
  const missing = [...locked.values()]
    .flatMap((entry) => Object.keys((entry as { optionalDependencies?: object }).optionalDependencies ?? {}))
    .filter((name) => ![...locked.keys()].some((place) => place.endsWith(`node_modules/${name}`)));
  expect(missing).toEqual([]);
});
