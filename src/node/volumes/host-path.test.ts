import { beforeEach, describe, expect, it } from 'vitest';
import { BoundedLooks } from './bounded-looks.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { FakeClock } from '#testing/fake-clock.js';
import { HostPath } from './host-path.js';
import { type PodVolume } from './volume-kind.js';

let clock: FakeClock;
let checks: number;
let check: () => Promise<void>;
let kind: HostPath;

beforeEach(() => {
  clock = new FakeClock();
  checks = 0;
  check = () => Promise.resolve();
  kind = new HostPath({
    looks: new BoundedLooks({ clock }),
    allowed: {
      check: () => {
        checks++;
        return check();
      },
      open: () => Promise.reject(new Error('not called')),
    },
  });
});

function volume(uid: string): PodVolume {
  const pod: NodePod = {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name: uid, namespace: 'default', uid },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  };
  return { pod, volume: { name: 'v', hostPath: { path: '/' } }, folder: '' };
}

describe('a hostPath', () => {
  it('that does not answer holds up each pod for ten seconds, and is looked at once', async () => {
    check = () => new Promise(() => undefined);
    const waiting = ['a', 'b'].map((uid) => kind.setUp(volume(uid)).catch(String));
    await clock.advance(10_000);
    const words = 'Error: hostPath type check failed: / does not answer';
    expect(await Promise.all(waiting)).toEqual([words, words]);
    expect(checks).toBe(1);
  });

  it('that does not answer any more keeps no pod from going on that had it', async () => {
    await kind.setUp(volume('a'));
    check = () => new Promise(() => undefined);
    const waiting = kind.setUp(volume('a')).catch(String);
    await clock.advance(10_000);
    expect(await waiting).toContain('does not answer');
    expect(await kind.isReady(volume('a'))).toBe(true);
    expect(await kind.isReady(volume('b'))).toBe(false);
  });

  it('that is forbidden by now is no pod’s any more', async () => {
    await kind.setUp(volume('a'));
    check = () => Promise.reject(new Error('forbidden'));
    await expect(kind.setUp(volume('a'))).rejects.toThrow('forbidden');
    expect(await kind.isReady(volume('a'))).toBe(false);
  });
});
