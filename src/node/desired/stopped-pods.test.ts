import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodUpdate } from '#kube/pod/pod-update.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { PodConfig } from './pod-config.js';
import { StoppedPods } from './stopped-pods.js';

let folder: string;
let released: string[];
let opened: StoppedPods[];
let errors: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-stopped-'));
  released = [];
  opened = [];
  errors = [];
});
afterEach(async () => {
  for (const stopped of opened) await stopped.settled();
  await rm(folder, { recursive: true });
});

const file = (): string => join(folder, 'stopped-pods.json');
const open = async (onChanged?: () => void): Promise<StoppedPods> => {
  const stopped = await StoppedPods.open({
    file: file(),
    onReleased: (uid) => released.push(uid),
    logger: { ...SILENT_LOGGER, error: (message) => void errors.push(message) },
    ...(onChanged === undefined ? {} : { onChanged }),
  });
  opened.push(stopped);
  return stopped;
};
const aPod = (hash = '1', name = 'web'): NodePod =>
  aNodePod({ name, annotations: { [STATIC_POD_ANNOTATIONS.manifestHash]: hash } });
const END = { deletionTimestamp: '2026-01-02T03:04:35Z', gracePeriodSeconds: 30 };

describe('a pod that was stopped', () => {
  it('ends, stays away once it has ended, and does so for the next agent, too', async () => {
    const stopped = await open();
    const pod = aPod();
    expect(stopped.apply(pod)).toBe(pod);
    await stopped.stop(pod, END);
    const ending = stopped.apply(pod);
    expect(ending?.metadata).toMatchObject({
      deletionTimestamp: END.deletionTimestamp,
      deletionGracePeriodSeconds: 30,
    });
    expect(stopped.apply(pod)).toBe(ending);
    expect((await open()).apply(aPod())?.metadata.deletionTimestamp).toBe(END.deletionTimestamp);
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
    expect([stopped.hasStopped(name), stopped.hasStopped('default/other')]).toEqual([true, false]);
    await stopped.setOver('uid-web');
    expect(stopped.hasStopped(name)).toBe(true);
    expect(stopped.apply(pod)).toBeUndefined();
    expect((await open()).apply(aPod())).toBeUndefined();
  });

  it('is another one when its manifest has changed, whether its source has delivered everything or not', async () => {
    const stopped = await open();
    await stopped.stop(aPod('1'), END);
    await stopped.setOver('uid-web');
    const edited = aPod('2');
    expect(stopped.find(edited)).toBeUndefined();
    expect(stopped.apply(edited)).toBe(edited);
  });

  it('stays forgotten when its manifest goes while its end is being written', async () => {
    const stopped = await open();
    await stopped.stop(aPod(), END);
    const over = stopped.setOver('uid-web');
    for (let turns = 0; turns < 5; turns++) await Promise.resolve();
    stopped.settle('file', [], true);
    await over;
    await stopped.settled();
    expect(stopped.list()).toEqual([]);
    expect((await open()).list()).toEqual([]);
  });

  it('is given no more time by a second stop, but less', async () => {
    const stopped = await open();
    await stopped.stop(aPod(), END);
    expect((await stopped.stop(aPod(), { ...END, gracePeriodSeconds: 60 })).gracePeriodSeconds).toBe(30);
    expect((await stopped.stop(aPod(), { ...END, gracePeriodSeconds: 0 })).gracePeriodSeconds).toBe(0);
  });

  it('keeps its claims when it is stopped, and not when it is deleted: what was asked for last counts', async () => {
    const volumes = [
      { name: 'a', emptyDir: {} },
      { name: 'b', persistentVolumeClaim: { claimName: 'data' } },
    ];
    const pod = { ...aPod(), spec: { ...aPod().spec, volumes } };
    const stopped = await open();
    await stopped.stop(pod, { ...END, keepsClaims: true });
    expect((await open()).list()).toMatchObject([{ claims: ['data'] }]);
    await stopped.setOver('uid-web');
    expect(stopped.list()).toMatchObject([{ claims: ['data'], isOver: true }]);
    await stopped.stop(pod, END);
    expect(stopped.list()[0]).not.toHaveProperty('claims');
    await stopped.stop(pod, { ...END, keepsClaims: true });
    expect(stopped.list()).toMatchObject([{ claims: ['data'] }]);
  });

  it('runs again when its manifest says something else, or is put back after it was gone', async () => {
    const stopped = await open();
    for (const name of ['edited', 'removed', 'same']) {
      await stopped.stop(aPod('1', name), END);
      await stopped.setOver(`uid-${name}`);
    }
    stopped.settle('http', [], true);
    stopped.settle('file', [aPod('2', 'edited'), aPod('1', 'same')], false);
    expect(stopped.list().map(({ name }) => name)).toEqual(['removed', 'same']);
    expect(stopped.heldBack().map(({ name }) => name)).toEqual(['same']);
    expect(released).toEqual(['uid-edited']);
    stopped.settle('file', [aPod('2', 'edited'), aPod('1', 'same')], true);
    await stopped.settled();
    expect((await open()).list().map(({ name }) => name)).toEqual(['same']);
  });

  it('runs again when it is released', async () => {
    const stopped = await open();
    await stopped.stop(aPod(), END);
    expect(await stopped.release('uid-web')).toBe(true);
    expect(await stopped.release('uid-web')).toBe(false);
    expect(stopped.apply(aPod())?.metadata.deletionTimestamp).toBeUndefined();
    expect(released).toEqual(['uid-web']);
  });

  it('comes back once it has ended when it is restarted, also with the next agent', async () => {
    await (await open()).stop(aPod(), { ...END, comesBack: true });
    const stopped = await open();
    expect(stopped.apply(aPod())?.metadata.deletionTimestamp).toBe(END.deletionTimestamp);
    await stopped.setOver('uid-web');
    const pod = aPod();
    expect([stopped.apply(pod) === pod, stopped.list(), released]).toEqual([true, [], ['uid-web']]);
    expect((await open()).list()).toEqual([]);
  });

  it.each([
    [true, false, 10, ['web over']],
    [false, true, 10, []],
    [true, false, 60, ['web over']],
    [false, true, 60, []],
    [true, true, 10, []],
  ])(
    'comes back when that was asked for last: first %s, then %s with %d s',
    async (first, last, gracePeriodSeconds, left) => {
      const stopped = await open();
      await stopped.stop(aPod(), { ...END, comesBack: first });
      const { gracePeriodSeconds: given } = await stopped.stop(aPod(), {
        ...{ deletionTimestamp: '2026-01-02T03:05:05Z', gracePeriodSeconds, comesBack: last },
      });
      expect(given).toBe(Math.min(30, gracePeriodSeconds));
      await stopped.setOver('uid-web');
      expect(stopped.list().map(({ name, isOver }) => `${name}${isOver ? ' over' : ''}`)).toEqual(left);
    },
  );

  it('is not stopped when that cannot be kept', async () => {
    const stopped = await open();
    await rm(folder, { recursive: true });
    await expect(stopped.stop(aPod(), END)).rejects.toThrow('ENOENT');
    expect(stopped.list()).toEqual([]);
    folder = await mkdtemp(join(tmpdir(), 'podloop-stopped-'));
  });

  it('ends on a full disk, which is written once there is room', async () => {
    const stopped = await open();
    const fill = async (): Promise<void> => symlink('/dev/full', `${file()}.tmp`);
    await fill();
    await stopped.stop(aPod(), END);
    expect(stopped.apply(aPod())?.metadata.deletionTimestamp).toBe(END.deletionTimestamp);
    expect((await open()).list()).toEqual([]);
    await fill();
    stopped.settle('', [aPod()], true);
    await stopped.settled();
    expect((await open()).list()).toEqual([]);
    stopped.settle('', [aPod()], true);
    await stopped.settled();
    expect((await open()).list()).toEqual(stopped.list());
    expect(errors).toEqual(['Records of stopped pods cannot be written to the disk, they wait in memory']);
  });

  it('makes an agent refuse a file that it did not write', async () => {
    await writeFile(file(), '{"version":1,"pods":[{}]}');
    await expect(open()).rejects.toMatchObject({ code: 'FOLDER_UNUSABLE' });
    expect(await readFile(file(), 'utf8')).toContain('pods');
  });
});

describe('the merged sources', () => {
  it('hand out a stop as a deletion, its end as a removal, and a release as an addition', async () => {
    const config: { current?: PodConfig } = {};
    const stopped = await open(() => config.current?.refresh());
    const merged = new PodConfig({ stopped });
    config.current = merged;
    const port = merged.addSource('file');
    const ending = new AbortController();
    const updates = merged.updates(ending.signal);
    const next = async (): Promise<string> => {
      const { value } = (await updates.next()) as { value: PodUpdate };
      return `${value.type} ${value.pods.map(({ metadata }) => metadata.name).join(' ')}`;
    };
    port.deliver([aPod(), aPod('1', 'other')]);
    expect(await next()).toBe('ADD web other');
    await stopped.stop(aPod(), END);
    expect(await next()).toBe('DELETE web');
    await stopped.setOver('uid-web');
    expect(await next()).toBe('REMOVE web');
    port.deliver([aPod(), aPod('1', 'other')]);
    await stopped.release('uid-web');
    expect(await next()).toBe('ADD web');
    await stopped.stop(aPod(), { ...END, comesBack: true });
    expect(await next()).toBe('DELETE web');
    await stopped.setOver('uid-web');
    expect(await next()).toBe('UPDATE web');
    await stopped.stop(aPod(), END);
    port.deliver([aPod('2'), aPod('1', 'other')]);
    expect(await next()).toBe('UPDATE web');
    // Whoever stopped that one had looked before it changed.
    await stopped.stop(aPod(), END);
    expect([stopped.list(), stopped.find(aPod('2'))]).toEqual([[], undefined]);
    ending.abort();
  });
});
