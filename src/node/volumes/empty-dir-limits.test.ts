import { beforeEach, describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type Volume } from '#kube/pod/volume.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { EmptyDirLimits } from './empty-dir-limits.js';

const NEVER = new AbortController().signal;
let clock: FakeClock;
let log: LogRecorder;
let pods: NodePod[];
let evicted: string[];
let measured: string[];
let used: Record<string, bigint | Error>;
let limits: EmptyDirLimits;

beforeEach(() => {
  clock = new FakeClock();
  log = new LogRecorder();
  [pods, evicted, measured, used] = [[], [], [], {}];
  limits = new EmptyDirLimits({
    ...{ clock, logger: log, pods: () => pods },
    folderOf: ({ metadata }, { name }) => `${metadata.name}/${name}`,
    evict: ({ metadata }, message) => evicted.push(`${metadata.name}: ${message}`),
    measure: (folder) => {
      measured.push(folder);
      const found = used[folder] ?? 0n;
      return found instanceof Error ? Promise.reject(found) : Promise.resolve(found);
    },
  });
});

function pod(name: string, ...volumes: readonly Volume[]): NodePod {
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name, namespace: 'default', uid: name },
    spec: { containers: [{ name: 'c', image: 'i' }], volumes },
  };
}
const limited = (name: string, sizeLimit = '1Ki'): Volume => ({ name, emptyDir: { sizeLimit } });

describe('the limit of an emptyDir', () => {
  it('is no reason to evict a pod that just reaches it', async () => {
    pods = [pod('a', limited('x'))];
    used = { 'a/x': 1024n };
    await limits.check(NEVER);
    expect(evicted).toEqual([]);
    used = { 'a/x': 1025n };
    await limits.check(NEVER);
    expect(evicted).toEqual(['a: Usage of EmptyDir volume "x" exceeds the limit "1Ki". ']);
  });

  it('evicts a pod for the first volume that is over', async () => {
    pods = [pod('a', limited('x'), limited('y'), limited('z')), pod('b', limited('x'))];
    used = { 'a/y': 1n << 40n, 'a/z': 1n << 40n };
    await limits.check(NEVER);
    expect(evicted).toEqual(['a: Usage of EmptyDir volume "y" exceeds the limit "1Ki". ']);
    expect(measured).toEqual(['a/x', 'a/y', 'b/x']);
  });

  it('is looked at only where there is one that the kernel does not hold', async () => {
    const memory: Volume = { name: 'm', emptyDir: { medium: 'Memory', sizeLimit: '1Ki' } };
    const host: Volume = { name: 'h', hostPath: { path: '/' } };
    pods = [pod('a', memory, host, { name: 'e', emptyDir: {} }, limited('none', '0'))];
    await limits.check(NEVER);
    expect(measured).toEqual([]);
  });

  it('is not enforced when the usage is unknown, which is logged once', async () => {
    pods = [pod('a', limited('x')), pod('b', limited('x'))];
    used = { 'a/x': new Error('du is missing'), 'b/x': 2000n };
    await limits.check(NEVER);
    await limits.check(NEVER);
    expect(evicted).toHaveLength(2);
    expect(log.complaints).toHaveLength(1);
  });

  it('is looked at every ten seconds', async () => {
    pods = [pod('a', limited('x'))];
    const ended = new AbortController();
    const running = limits.run(ended.signal);
    await clock.advance(9_999);
    expect(measured).toHaveLength(0);
    await clock.advance(1);
    expect(measured).toHaveLength(1);
    await clock.advance(10_000);
    expect(measured).toHaveLength(2);
    ended.abort();
    await running;
  });
});
