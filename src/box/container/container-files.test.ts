import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ContainerFiles } from './container-files.js';

let dir = '';
let files: ContainerFiles;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'podloop-files-'));
  files = new ContainerFiles(dir);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('ContainerFiles', () => {
  it('takes a reserved or half written exit record for none', async () => {
    expect(await files.findExit()).toBeUndefined();
    await files.reserveExit();
    expect(await files.findExit()).toBeUndefined();
    for (const part of ['', 'exit', 'exit 13', 'exit \n', 'exit 4444\n']) {
      await writeFile(join(dir, 'exit'), part);
      expect(await files.findExit()).toBeUndefined();
    }
  });

  it.each([
    ['exit 0\n', 0, 'Completed'],
    ['exit 3\n    \n', 3, 'Error'],
    ['exit 137\n', 137, 'Error'],
  ])('reads %j as the supervisor wrote it', async (text, code, reason) => {
    await writeFile(join(dir, 'exit'), text);
    expect(await files.findExit()).toMatchObject({ code, reason, message: '' });
  });

  it('reads its own record of an end back, message on one line', async () => {
    await files.writeExit({ code: 128, reason: 'StartError', message: 'no\nsuch  file' });
    expect(await files.findExit()).toMatchObject({
      code: 128,
      reason: 'StartError',
      message: 'no such file',
    });
  });

  it('says of a set-up that memory ran out in it that the limit is too small', async () => {
    await writeFile(join(dir, 'exit'), 'exit 128 StartError its set-up ended with 137\n');
    await files.markOomKilled();
    const exit = await files.findExit();
    expect(exit?.reason).toBe('StartError');
    expect(exit?.message).toContain('memory limit is too small to start in');
  });

  it('tells nobody where the runtime has its files', async () => {
    const hidden = new ContainerFiles(join(dir, 'containers', 'id'), dir);
    await mkdir(hidden.dir, { recursive: true });
    await hidden.writeExit({
      code: 128,
      reason: 'StartError',
      message: `mount: ${dir}/stage/api: no, ${dir}`,
    });
    expect((await hidden.findExit())?.message).toBe('mount: ROOT/stage/api: no, ROOT');
  });

  it('gives a run to one only: a supervisor or the one who declares it void', async () => {
    expect(await files.findSupervisor(0)).toBeUndefined();
    expect(await files.voidRun(0)).toBe(true);
    expect(await files.voidRun(0)).toBe(false);
    expect(await files.findSupervisor(0)).toBe('void');
    // What a runtime before this one has left.
    await writeFile(join(dir, 'run.2'), 'void\n');
    expect(await files.findSupervisor(2)).toBe('void');
    const stat = `7 (sh) S 1 7 7 ${'0 '.repeat(15)}4711 0`;
    await writeFile(join(dir, 'run.1'), `boot\n${stat}`);
    expect(await files.findSupervisor(1)).toBeUndefined();
    await writeFile(join(dir, 'run.1'), `boot\n${stat}\n`);
    expect(await files.findSupervisor(1)).toEqual({
      bootId: 'boot',
      identity: { pid: 7, startTicks: '4711' },
    });
    expect(await files.voidRun(1)).toBe(false);
  });
});
