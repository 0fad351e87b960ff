import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { PodPaths } from '../../watch/observed/pod-paths.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { EndedPods, type EndedPod } from './ended-pods.js';

const STATUS: V1PodStatus = {
  ...{ phase: 'Failed', reason: 'DeadlineExceeded', message: 'too long', startTime: '2026-01-02T03:04:05Z' },
  ...{ conditions: [], containerStatuses: [], qosClass: 'BestEffort' },
};
const END: EndedPod = { definition: 'abc', status: STATUS, isFinished: false };

let folder: string;
let paths: PodPaths;
let logger: LogRecorder;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-ended-pods-'));
  paths = new PodPaths({ rootDir: folder, podLogsDir: join(folder, 'logs') });
  logger = new LogRecorder();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const open = (): Promise<EndedPods> => EndedPods.open({ paths, logger });

describe('ends of pods', () => {
  it('are known to the next agent as they were kept last', async () => {
    const first = await open();
    expect(first.find('u1')).toBeUndefined();
    await first.keep('u1', END);
    await first.keep('u2', END);
    const last = { ...END, status: { ...STATUS, podIP: '10.0.0.1' }, isFinished: true };
    await first.keep('u1', last);
    expect([first.isKept('u1'), first.isKept('u3')]).toEqual([true, false]);
    const next = await open();
    expect(next.isKept('u1')).toBe(true);
    expect(next.find('u1')).toEqual(last);
    expect(next.find('u2')).toEqual(END);
    expect([...next.uids()].sort()).toEqual(['u1', 'u2']);
  });

  it('are gone for the next agent once they were forgotten and that has settled', async () => {
    const first = await open();
    await first.keep('u1', END);
    first.forget('u1');
    first.forget('u1');
    expect(first.find('u1')).toBeUndefined();
    expect(first.isKept('u1')).toBe(false);
    await first.settled('u1');
    expect((await open()).find('u1')).toBeUndefined();
  });

  it('are not taken for kept when they are forgotten as they are written', async () => {
    const ended = await open();
    const keeping = ended.keep('u1', END);
    // It has begun by then.
    await Promise.resolve();
    ended.forget('u1');
    await keeping;
    await ended.settled('u1');
    expect([ended.isKept('u1'), (await open()).isKept('u1')]).toEqual([false, false]);
  });

  it('are not taken for none when the folder of pods cannot be read', async () => {
    await writeFile(paths.podsDir, 'no folder');
    await expect(open()).rejects.toThrow('ENOTDIR');
  });

  it('are on the disk as they are in memory, whatever is asked for at once', async () => {
    const first = await open();
    const keeping = first.keep('u1', END);
    first.forget('u1');
    const again = first.keep('u1', { ...END, definition: 'another' });
    await Promise.all([keeping, again]);
    expect((await open()).find('u1')?.definition).toBe('another');
    void first.keep('u1', END);
    first.forget('u1');
    await first.settled('u1');
    expect((await open()).find('u1')).toBeUndefined();
  });

  it('survive a write that was cut off, and what a pod that is being removed has left', async () => {
    await (await open()).keep('u1', END);
    await writeFile(`${paths.endFile('u1')}.tmp`, '{"version":1,"uid":"u1","defin');
    await mkdir(paths.podDir('.podloop-gone-u2'));
    await writeFile(paths.endFile('.podloop-gone-u2'), await readFile(paths.endFile('u1')));
    const next = await open();
    expect(next.find('u1')).toEqual(END);
    expect([...next.uids()]).toEqual(['u1']);
    expect(logger.lines).toEqual([]);
  });

  it.each([
    ['is cut off', '{"version":1,'],
    ['is of another pod', JSON.stringify({ version: 1, uid: 'u9', ...END })],
    ['is of another form', JSON.stringify({ version: 2, uid: 'u1', ...END })],
    ['has no end in it', JSON.stringify({ version: 1, uid: 'u1', ...END, status: { phase: 'Running' } })],
    ['is empty', ''],
  ])('are left alone and said when one %s', async (_what, text) => {
    await (await open()).keep('u2', END);
    await mkdir(paths.podDir('u1'), { recursive: true });
    await writeFile(paths.endFile('u1'), text);
    const next = await open();
    expect([...next.uids()]).toEqual(['u2']);
    expect(logger.lines).toMatchObject([
      { level: 'error', fields: { podUID: 'u1', path: paths.endFile('u1') } },
    ]);
    expect(await readFile(paths.endFile('u1'), 'utf8')).toBe(text);
  });

  it('hold as long as this agent does where there is no room for them', async () => {
    const ends = await open();
    // In the place of the folder, as writing as root fails for nothing else.
    await mkdir(paths.podsDir, { recursive: true });
    await writeFile(paths.podDir('u1'), '');
    await ends.keep('u1', END);
    expect(ends.find('u1')).toEqual(END);
    expect(logger.lines).toMatchObject([
      { level: 'error', message: 'End of a pod cannot be recorded on the disk' },
    ]);
    await rm(paths.podDir('u1'));
    await ends.keep('u1', { ...END, isFinished: true });
    expect((await open()).find('u1')?.isFinished).toBe(true);
  });
});
