import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/index.js';
import { ChangeLane } from './change-lane.js';

let clock: FakeClock;
let limit: number;
let lane: ChangeLane;
beforeEach(() => {
  clock = new FakeClock();
  limit = 2;
  lane = new ChangeLane({ clock, limit: () => limit, leaveAfterMs: 1_000, mostOutside: 1 });
});

/** Work that ends when the test says so. */
function aTask(): { work: () => Promise<string>; end: () => void; started: () => boolean } {
  let end: () => void = () => undefined;
  let started = false;
  const gate = new Promise<string>((resolve) => (end = () => resolve('done')));
  const work = (): Promise<string> => {
    started = true;
    return gate;
  };
  return { work, end: () => end(), started: () => started };
}

describe('a lane of changes', () => {
  it('lets in as many as its limit says, first come, first served', async () => {
    const tasks = [aTask(), aTask(), aTask(), aTask()];
    const runs = tasks.map(({ work }) => lane.run(work, undefined));
    await clock.settle();
    expect(tasks.map(({ started }) => started())).toEqual([true, true, false, false]);
    tasks[1]!.end();
    await clock.settle();
    expect(tasks.map(({ started }) => started())).toEqual([true, true, true, false]);
    for (const { end } of tasks) end();
    expect(await Promise.all(runs)).toEqual(['done', 'done', 'done', 'done']);
    expect(lane.facts).toEqual({ limit: 2, waiting: 0, inside: 0, outside: 0 });
  });

  it('lets in the lowest rank first', async () => {
    limit = 1;
    const first = aTask();
    const order: string[] = [];
    const note = (name: string) => () => Promise.resolve(void order.push(name));
    const runs = [
      lane.run(first.work, undefined),
      lane.run(note('late'), undefined, 2),
      lane.run(note('soon'), undefined, 1),
      lane.run(note('next'), undefined),
      lane.run(note('soon too'), undefined, 1),
    ];
    first.end();
    await Promise.all(runs);
    expect(order).toEqual(['next', 'soon', 'soon too', 'late']);
  });

  it('lets one that takes long go on outside, and the next one in', async () => {
    const [hangs, also, next, last] = [aTask(), aTask(), aTask(), aTask()];
    const runs = [hangs, also, next, last].map(({ work }) => lane.run(work, undefined));
    await clock.advance(1_000);
    // Only one may be outside.
    expect(lane.facts).toEqual({ limit: 2, waiting: 1, inside: 2, outside: 1 });
    expect([next.started(), last.started()]).toEqual([true, false]);
    for (const { end } of [hangs, also, next, last]) end();
    await Promise.all(runs);
    expect(lane.facts).toMatchObject({ inside: 0, outside: 0 });
    expect(clock.pendingTimers).toBe(0);
  });

  it('gives up the wait of one whose signal aborts, and never the work', async () => {
    const stop = new AbortController();
    const tasks = [aTask(), aTask(), aTask()];
    const [first, second] = tasks.slice(0, 2).map(({ work }) => lane.run(work, stop.signal));
    const third = lane.run(tasks[2]!.work, stop.signal);
    stop.abort(new Error('killed'));
    await expect(third).rejects.toThrow('killed');
    for (const { end } of tasks) end();
    expect(await Promise.all([first, second])).toEqual(['done', 'done']);
    expect(tasks[2]!.started()).toBe(false);
    await expect(lane.run(tasks[2]!.work, stop.signal)).rejects.toThrow('killed');
  });

  it('goes on after work that failed', async () => {
    limit = 1;
    const failing = lane.run(() => Promise.reject(new Error('no')), undefined);
    const next = lane.run(() => Promise.resolve('fine'), undefined);
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('fine');
  });

  it('follows a limit that grows', async () => {
    limit = 1;
    const tasks = [aTask(), aTask(), aTask()];
    const runs = tasks.map(({ work }) => lane.run(work, undefined));
    limit = 3;
    tasks[0]!.end();
    await clock.settle();
    expect(tasks.map(({ started }) => started())).toEqual([true, true, true]);
    for (const { end } of tasks) end();
    await Promise.all(runs);
  });
});
