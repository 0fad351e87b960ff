import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFaultInside, findFormatFault } from './find-fault-inside.js';

let root = '';
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-root-'));
  await mkdir(join(root, 'bin'));
  await mkdir(join(root, 'usr'));
  await writeFile(join(root, 'bin/program'), '\x7fELF...', { mode: 0o755 });
  await writeFile(join(root, 'bin/script'), '#!/bin/program -x\n', { mode: 0o755 });
  await writeFile(join(root, 'bin/orphan'), '#! /no/such\n', { mode: 0o755 });
  await writeFile(join(root, 'bin/text'), 'hello', { mode: 0o755 });
  await writeFile(join(root, 'bin/plain'), '\x7fELF', { mode: 0o644 });
  await symlink('/bin', join(root, 'usr/bin'));
  await symlink('../../../../bin/program', join(root, 'bin/climber'));
  await symlink('/etc/passwd', join(root, 'bin/outside'));
  await symlink('loop', join(root, 'bin/loop'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

function command(name: string) {
  return { argv: [name], environment: [Buffer.from('PATH=/usr/bin')], workingDir: '/usr' };
}

describe('findFaultInside', () => {
  it.each([
    ['program', undefined],
    ['/usr/bin/program', undefined],
    ['bin/program', undefined],
    ['climber', undefined],
    ['absent', 'executable file not found in $PATH'],
    ['/absent', 'no such file or directory'],
    ['plain', 'permission denied'],
    ['/usr', 'is a directory'],
    ['outside', 'executable file not found in $PATH'],
    ['loop', 'executable file not found in $PATH'],
  ])('%s: %s', async (name, fault) => {
    expect(await findFaultInside(root, command(name))).toBe(fault && `exec: "${name}": ${fault}`);
  });
});

describe('findFormatFault', () => {
  it.each([
    ['program', undefined],
    ['script', undefined],
    ['absent', undefined],
    ['text', 'exec format error'],
    ['orphan', 'no such file or directory'],
  ])('%s: %s', async (name, fault) => {
    expect(await findFormatFault([root], command(name), [])).toBe(fault && `exec: "${name}": ${fault}`);
  });

  it('says nothing about what lies below a mount', async () => {
    expect(await findFormatFault([root], command('text'), ['/usr/bin'])).toBeUndefined();
    expect(await findFormatFault([root], command('orphan'), ['/no'])).toBeUndefined();
  });
});
