import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { ProbeFiles } from './probe-memory.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-probes-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const open = (): Promise<ProbeFiles> => ProbeFiles.open({ folder, logger: SILENT_LOGGER });

describe('what probes found out', () => {
  it('is there again after a restart', async () => {
    const first = await open();
    first.remember('uid-1', 'a', { ready: true });
    first.remember('uid-1', 'a', { started: true });
    first.remember('uid-1', 'b', { ready: false });
    await first.flush();
    const second = await open();
    expect(second.recall('uid-1', 'a')).toEqual({ ready: true, started: true });
    expect(second.recall('uid-1', 'b')).toEqual({ ready: false });
    expect(second.recall('uid-1', 'c')).toBeUndefined();
    expect(second.pods()).toEqual(['uid-1']);
  });

  it('is kept as it was last, however quickly it changes', async () => {
    const first = await open();
    for (let change = 0; change <= 100; change++) first.remember('uid-1', 'a', { ready: change % 2 === 0 });
    await first.flush();
    expect((await open()).recall('uid-1', 'a')).toEqual({ ready: true });
  });

  it('leaves no file behind when the pod is gone', async () => {
    const files = await open();
    files.remember('uid-1', 'a', { ready: true });
    files.remember('uid-2', 'b', { ready: true });
    await files.flush();
    files.forgetPod('uid-1');
    files.forget('uid-2', 'b');
    await files.flush();
    expect(await readdir(folder)).toEqual([]);
  });

  it('leaves no file behind that was never written to its end', async () => {
    await writeFile(join(folder, 'uid-1.json.tmp'), '{"containers":{"a"');
    expect((await open()).pods()).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
  });

  it('of a pod with any uid stays in its folder', async () => {
    const files = await open();
    for (const uid of ['../../etc/x', '..', 'a/b', 'ü%2e']) files.remember(uid, 'a', { ready: true });
    await files.flush();
    expect(await readdir(folder)).toHaveLength(4);
    expect((await open()).pods().toSorted()).toEqual(['../../etc/x', '..', 'a/b', 'ü%2e'].toSorted());
  });

  it('does not need every file to be readable', async () => {
    const files = await open();
    files.remember('uid-1', 'a', { ready: true });
    await files.flush();
    await writeFile(join(folder, 'torn.json'), '{"containers":{"a":{"ready"');
    await writeFile(join(folder, 'odd.json'), '{"containers":{"a":null,"b":{"ready":"yes","started":true}}}');
    await writeFile(join(folder, 'uid-3.json.tmp'), 'left behind');
    const again = await open();
    expect(again.recall('uid-1', 'a')).toEqual({ ready: true });
    expect(again.recall('odd', 'a')).toEqual({});
    expect(again.recall('odd', 'b')).toEqual({ started: true });
    expect(again.recall('torn', 'a')).toBeUndefined();
  });

  it('stays in memory when it cannot be written', async () => {
    const errors: string[] = [];
    const logger = { ...SILENT_LOGGER, error: (message: string) => void errors.push(message) };
    const files = await ProbeFiles.open({ folder: join(folder, 'sub'), logger });
    await rm(join(folder, 'sub'), { recursive: true });
    files.remember('uid-1', 'a', { ready: true });
    await files.flush();
    expect(errors).toEqual(['Record of probes cannot be written']);
    expect(files.recall('uid-1', 'a')).toEqual({ ready: true });
  });

  it('is a small file of JSON', async () => {
    const files = await open();
    files.remember('uid-1', 'a', { ready: true });
    await files.flush();
    expect(await readFile(join(folder, 'uid-1.json'), 'utf8')).toBe(
      '{"version":1,"containers":{"a":{"ready":true}}}\n',
    );
  });
});
