/**
 * What users get when they install podloop: every entry loads and has its types, and nothing else is needed.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  findSource,
  InstalledPackage,
  listSubpaths,
  readModuleExamples,
  readPackageJson,
} from './installed-package.js';
import { REPOSITORY } from './source-tree.js';

const run = promisify(execFile);
const packageJson = readPackageJson();
let installed: InstalledPackage;

beforeAll(async () => {
  installed = await InstalledPackage.create();
}, 240_000);

afterAll(async () => {
  await installed[Symbol.asyncDispose]();
});

/** What Are the types wrong? makes of the packed package, where it has to resolve (TypeScript's old way needs main fields). */
async function checkTypes() {
  const tarball = await readFile(path.join(installed.folder, `podloop-${packageJson.version}.tgz`));
  const checked = await checkPackage(createPackageFromTarballData(tarball));
  if (checked.types === false) return { analysis: 'none', problems: [] };
  const problems = checked.problems.filter(
    (each) => !('resolutionKind' in each && each.resolutionKind === 'node10'),
  );
  return { analysis: checked.types.kind, problems };
}

describe('the installed package', () => {
  it('has the entries that the documentation names', () => {
    expect(listSubpaths()).toEqual([
      'podloop',
      'podloop/cri',
      'podloop/runtime',
      'podloop/pleg',
      'podloop/embedded',
      'podloop/chaos',
      'podloop/record',
      'podloop/testing',
    ]);
  });

  it.each(listSubpaths())(
    'exports from %s what its source does, and leaves the process free to end',
    // The first one loads all sources.
    { timeout: 300_000 },
    async (subpath) => {
      const names = await installed.node([
        '--input-type=module',
        '--eval',
        `console.log(JSON.stringify(Object.keys(await import('${subpath}'))))`,
      ]);
      const source = (await import(path.join(REPOSITORY, findSource(subpath)))) as object;
      expect(Object.keys(source).length).toBeGreaterThan(0);
      expect((JSON.parse(names) as string[]).sort()).toEqual(Object.keys(source).sort());
    },
  );

  it.each(listSubpaths())('can be required from %s by a program that is no ES module', async (subpath) => {
    const required = `console.log(Object.keys(require('${subpath}')).sort().join())`;
    const imported = `console.log(Object.keys(await import('${subpath}')).sort().join())`;
    const [one, other] = await Promise.all([
      installed.node(['--input-type=commonjs', '--eval', required]),
      installed.node(['--input-type=module', '--eval', imported]),
    ]);
    expect(one.replace('module.exports,', '')).toBe(other);
  });

  it('says of itself what is so: publint', async () => {
    const { messages } = await publint({ pkgDir: path.join(installed.folder, 'node_modules/podloop') });
    expect(messages).toEqual([]);
  });

  it('has types that fit its code, for everybody who can load it: Are the types wrong?', async () => {
    const { analysis, problems } = await checkTypes();
    expect(analysis).toBe('included');
    // Node loads ES modules by require() from the version on that we ask for; that tool asks for code of both kinds.
    expect(problems.filter(({ kind }) => kind !== 'CJSResolvesToESM')).toEqual([]);
  });

  it('keeps the inside inside', async () => {
    const importing = installed.node([
      '--input-type=module',
      '--eval',
      `await import('podloop/dist/pleg/diff.js')`,
    ]);
    await expect(importing).rejects.toThrow('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });

  it('types every entry, and the example of every entry, without help from the reader’s settings', async () => {
    const files: string[] = [];
    for (const subpath of listSubpaths()) {
      const name = `${subpath.replace('/', '-')}.ts`;
      await writeFile(path.join(installed.folder, name), `export * from '${subpath}';\n`);
      files.push(name);
    }
    for (const [subpath, example] of readModuleExamples()) {
      const name = `${subpath.replace('/', '-')}-example.ts`;
      await writeFile(path.join(installed.folder, name), `${example}\nexport {};\n`);
      files.push(name);
    }
    // Library declarations are checked too: ours must not lean on a setting that users may not have.
    const compilerOptions = {
      ...{ module: 'nodenext', target: 'es2022', types: ['node'], strict: true },
      ...{ noEmit: true, skipLibCheck: false },
    };
    await writeFile(path.join(installed.folder, 'package.json'), '{ "type": "module" }');
    await writeFile(path.join(installed.folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    const tsc = path.join(REPOSITORY, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run(process.execPath, [tsc, '-p', '.', '--pretty', 'false'], {
      cwd: installed.folder,
    }).catch((error: unknown) => error as { stdout: string });
    expect(stdout).toBe('');
  }, 240_000);

  it('has an example in front of every entry', () => {
    expect([...readModuleExamples().keys()]).toEqual(listSubpaths());
  });

  it('runs the example of podloop/testing as it stands', async () => {
    const example = readModuleExamples().get('podloop/testing')!;
    expect(await installed.node(['--input-type=module', '--eval', example])).toBe(
      'app died with exit code 3\n',
    );
  });

  it('has a program that knows its version, and starts without a runtime', async () => {
    const program = path.join(installed.folder, 'node_modules/podloop', packageJson.bin['podloop']!);
    expect((await installed.node([program, '--version'])).trim()).toContain(packageJson.version);
    expect(await installed.node([program, '--help'])).toContain('Usage: podloop');
    expect((await readFile(program, 'utf8')).split('\n')[0]).toBe('#!/usr/bin/env node');
  });

  it('holds examples and licences, and neither tests, nor docs, nor what was compiled file by file', async () => {
    const folder = path.join(installed.folder, 'node_modules/podloop');
    const files = await readdir(folder, { recursive: true });
    expect(files.filter((file) => /\.test\.|tsbuildinfo|^docs|^dist\/(?!lib|program)./.test(file))).toEqual(
      [],
    );
    const promised = ['README.md', 'LICENSE', 'CHANGELOG.md', 'examples/pods', 'dist/lib/LICENSES.txt'];
    expect(promised.filter((file) => !files.includes(file))).toEqual([]);
  });
});
