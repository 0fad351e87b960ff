import { beforeEach, describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodUsage } from '../../../../watch/observed/pod-usage.js';
import { emptyPodStatus } from '../../../../watch/observed/runtime.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { aPodUsage, NODE_USAGE } from '#support/builders/usage-builders.js';
import { PodUses } from './pod-uses.js';

const never = new AbortController().signal;
const DISK = { logs: true, volumes: 'bytes' } as const;

let clock: FakeClock;
let usages: readonly PodUsage[] | Error;
let counted: string[];
/** By folder; those that are not in it are never done. */
let bytes: Record<string, bigint>;
/** By folder; unknown for others. */
let inodes: Record<string, bigint>;
let pods: NodePod[];
let uses: PodUses;

const NO_FILES = { bytes: 0, inodes: 0 };

beforeEach(() => {
  clock = new FakeClock();
  [counted, bytes, inodes, pods, usages] = [[], {}, {}, [], []];
  uses = new PodUses({
    usage: { listPods: async () => (usages instanceof Error ? Promise.reject(usages) : usages) },
    cache: { getLastKnown: emptyPodStatus },
    ...{ readNode: async () => Promise.resolve(NODE_USAGE), logsDir: '/nowhere', pods: () => pods },
    files: { measure: async () => Promise.resolve({ pod: NO_FILES, containers: new Map() }) },
    folderOf: ({ metadata }, { name }) => `/${metadata.name}/${name}`,
    measureFolder: async (path) => {
      counted.push(path);
      const size = bytes[path];
      return size === undefined ? new Promise(() => undefined) : Promise.resolve(size);
    },
    countInodes: async (path) =>
      inodes[path] === undefined ? Promise.reject(new Error('du: unknown option')) : inodes[path],
    ...{ ending: never, clock, logger: new LogRecorder() },
  });
});

function add(name: string, volumes: NodePod['spec']['volumes'] = []): void {
  pods.push(aNodePod({ name, spec: { volumes } }));
  usages = [...(usages as readonly PodUsage[]), aPodUsage({ name })];
}

async function volumeBytes(): Promise<Record<string, number | undefined>> {
  const measuring = uses.measure(pods, DISK, never);
  await clock.advance(8_000);
  return Object.fromEntries([...(await measuring)].map(([uid, use]) => [uid, use.volumeBytes]));
}

describe('what pods use', () => {
  it('is emptyDirs on the disk alone, by what the pod says they are', async () => {
    add('web', [
      { name: 'one', emptyDir: {} },
      { name: 'two', emptyDir: { medium: '' } },
      { name: 'fast', emptyDir: { medium: 'Memory' } },
      { name: 'config', configMap: { name: 'c' } },
      { name: 'host', hostPath: { path: '/' } },
    ]);
    add('plain');
    bytes = { '/web/one': 5n, '/web/two': 7n };
    expect(await volumeBytes()).toEqual({ 'uid-web': 12, 'uid-plain': 0 });
    expect(counted).toEqual(['/web/one', '/web/two']);
  });

  it('is known without counting files where nobody needs their number', async () => {
    add('web', [{ name: 'one', emptyDir: {} }]);
    const measured = await uses.measure(pods, { logs: false, volumes: false }, never);
    expect(measured.get('uid-web')).toMatchObject({ memoryBytes: 2 ** 20 });
    expect(measured.get('uid-web')).not.toHaveProperty('volumeBytes');
    expect(counted).toEqual([]);
  });

  it('is unknown of volumes that were never counted, and as it was of those that were', async () => {
    add('slow', [{ name: 'large', emptyDir: {} }]);
    add('web', [{ name: 'one', emptyDir: {} }]);
    bytes = { '/web/one': 5n };
    expect(await volumeBytes()).toEqual({ 'uid-slow': undefined, 'uid-web': 5 });
    await clock.advance(10_000);
    bytes = {};
    expect(await volumeBytes()).toEqual({ 'uid-slow': undefined, 'uid-web': 5 });
    expect(counted).toEqual(['/slow/large', '/web/one', '/web/one']);
  });

  it('is the files of volumes where these are short, and nothing of those where nobody can count them', async () => {
    add('web', [
      { name: 'one', emptyDir: {} },
      { name: 'two', emptyDir: {} },
    ]);
    add('other', [{ name: 'one', emptyDir: {} }]);
    inodes = { '/web/one': 5_000n, '/web/two': 7n };
    const measured = await uses.measure(pods, { logs: true, volumes: 'inodes' }, never);
    expect(measured.get('uid-web')).toMatchObject({ volumeInodes: 5_007 });
    expect(measured.get('uid-other')).toMatchObject({ volumeInodes: 0 });
    expect(counted).toEqual([]);
  });

  it('is returned only for the requested pods, and forgotten for those that nobody wants', async () => {
    add('web', [{ name: 'one', emptyDir: {} }]);
    add('gone', [{ name: 'one', emptyDir: {} }]);
    bytes = { '/web/one': 5n, '/gone/one': 6n };
    expect(await volumeBytes()).toEqual({ 'uid-web': 5, 'uid-gone': 6 });
    const [web, gone] = pods as [NodePod, NodePod];
    pods = [web];
    expect(await volumeBytes()).toEqual({ 'uid-web': 5 });
    pods = [web, gone];
    bytes = {};
    expect(await volumeBytes()).toEqual({ 'uid-web': 5, 'uid-gone': undefined });
  });

  it('is returned for no pod when the runtime does not answer', async () => {
    add('web');
    usages = new Error('connection refused');
    await expect(uses.measure(pods, DISK, never)).rejects.toThrow(
      'the runtime does not report what pods use: connection refused',
    );
  });

  it('is nothing that anybody waits for without end', async () => {
    add('web');
    usages = { then: () => undefined } as unknown as readonly PodUsage[];
    const measuring = uses.measure(pods, DISK, never);
    const late = expect(measuring).rejects.toThrow('not done within 20s');
    await clock.advance(20_000);
    await late;
  });
});
