import { beforeEach, describe, expect, it } from 'vitest';
import { PodCache } from '../../../../watch/pleg/pod-cache.js';
import { emptyPodStatus } from '../../../../watch/observed/runtime.js';
import { FakeClock } from '#testing/fake-clock.js';
import { clearUp } from './clear-up.js';

const never = new AbortController().signal;

let clock: FakeClock;
let cache: PodCache;
let done: string[];
let isSeen: boolean;

beforeEach(() => {
  clock = new FakeClock();
  cache = new PodCache();
  [done, isSeen] = [[], true];
  for (const uid of ['over', 'web']) cache.set(uid, emptyPodStatus(uid), undefined, clock.stamp());
});

async function run(containers: number, signal = never): Promise<void> {
  const collectors = {
    containers: {
      collectAll: async (isOver: (uid: string) => boolean) => {
        done.push(`containers of ${['over', 'web'].filter(isOver).join(', ')}`);
        return Promise.resolve({ containers, sandboxes: 0, failed: 0 });
      },
    },
    images: {
      collectAll: async () => {
        done.push('images');
        return Promise.resolve({ removed: [], freedBytes: 0, isShort: false });
      },
    },
  };
  const isOver = (uid: string): boolean => uid === 'over';
  await clearUp({ collectors, cache, clock, isOver, seenAllSources: () => isSeen }, signal);
}

describe('a node that is cleared up', () => {
  it('removes images once it shows that their containers are gone', async () => {
    const asked: string[] = [];
    cache.onWait((uid) => asked.push(uid));
    const running = run(1);
    await clock.settle();
    expect([done, asked]).toEqual([['containers of over'], ['over']]);
    cache.set('over', emptyPodStatus('over'), undefined, clock.stamp());
    await running;
    expect(done).toEqual(['containers of over', 'images']);
  });

  it('waits five seconds for that at most, and not when nothing was removed', async () => {
    const running = run(1);
    await clock.advance(4_999);
    expect(done).toHaveLength(1);
    await clock.advance(1);
    await running;
    expect([done.length, cache.waiting]).toEqual([2, 0]);
    await run(0);
    expect(done).toHaveLength(4);
  });

  it('leaves images alone until every source of pods was seen, and when the agent ends', async () => {
    isSeen = false;
    await run(1);
    isSeen = true;
    const stop = new AbortController();
    const running = run(1, stop.signal);
    await clock.settle();
    stop.abort(new Error('the end'));
    await expect(running).rejects.toThrow('the end');
    expect(done).not.toContain('images');
  });
});
