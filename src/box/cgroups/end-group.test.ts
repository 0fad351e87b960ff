import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type CgroupIo } from '#base/proc/cgroups/cgroup-io.js';
import { CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';
import { type ProcessIdentity } from '../process/child-identity.js';
import { killGroup } from './end-group.js';

const GROUP = '/podloop/c1';
const FREEZER = { mountpoint: '/cg/freezer', version: 1, controllers: ['freezer'] } as const;
const PIDS = { mountpoint: '/cg/pids', version: 1, controllers: ['pids'] } as const;

/** One group, what it is asked, and a number that goes to somebody outside of it at one moment. */
class ChangingGroup {
  readonly killed: string[] = [];
  /** What the numbers 10 and 11 name; `ours` is in the group. */
  readonly #processes = new Map([10, 11].map((pid) => [pid, { startTicks: '100', ours: true }]));
  readonly #changeAt: number;
  #step = 0;
  /** Whether the number changed hands after the last question, and that was about it: then nothing can be done. */
  #isUnseen = false;

  constructor(changeAt: number) {
    this.#changeAt = changeAt;
  }

  get steps(): number {
    return this.#step;
  }

  readonly io: CgroupIo = {
    read: () => this.#answer('who is listed', () => `${[...this.#members()].join('\n')}\n`),
    write: () => Promise.resolve(),
    makeGroup: () => Promise.resolve(),
    removeGroup: () => Promise.resolve(),
    children: () => Promise.resolve([]),
  };

  readonly find = (pid: number): ProcessIdentity | undefined =>
    this.#answer(`who is ${pid}`, () => {
      const process = this.#processes.get(pid);
      return process && { pid, startTicks: process.startTicks };
    });

  readonly kill = (pid: number): boolean => {
    const process = this.#processes.get(pid);
    if (!this.#isUnseen) this.killed.push(process?.ours === true ? `own ${pid}` : `somebody else ${pid}`);
    return this.#processes.delete(pid);
  };

  #members(): number[] {
    return [...this.#processes].flatMap(([pid, { ours }]) => (ours ? [pid] : []));
  }

  /** Answers, and then time passes: 10 ends, and somebody else gets its number. */
  #answer<T>(question: string, answer: () => T): T {
    const said = answer();
    this.#isUnseen = false;
    if (this.#step++ === this.#changeAt && this.#processes.has(10)) {
      this.#processes.set(10, { startTicks: '999', ours: false });
      this.#isUnseen = question === 'who is 10';
    }
    return said;
  }
}

async function drive<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  const state = { done: false };
  void work.finally(() => (state.done = true));
  while (!state.done) {
    await clock.advance(clock.nextTimerInMs ?? 0);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return work;
}

async function end(hierarchies: ConstructorParameters<typeof CgroupLayout>[1], changeAt: number) {
  const group = new ChangingGroup(changeAt);
  const clock = new FakeClock();
  const { io, kill, find } = group;
  const gone = await drive(clock, killGroup(new CgroupLayout(io, hierarchies), GROUP, { clock, kill, find }));
  return { group, gone };
}

describe.each([
  ['with a freezer', [FREEZER]],
  ['without a freezer', [PIDS]],
])('the end of a group %s', (_what, hierarchies) => {
  it('signals its processes and nobody else, whenever a number changes hands', async () => {
    const untouched = await end(hierarchies, -1);
    expect(untouched.gone).toBe(true);
    expect(untouched.group.killed).toEqual(['own 10', 'own 11']);
    expect(untouched.group.steps).toBeGreaterThan(4);
    for (let step = 0; step < untouched.group.steps; step++) {
      const { group, gone } = await end(hierarchies, step);
      expect(gone).toBe(true);
      expect(group.killed.filter((each) => each.startsWith('somebody'))).toEqual([]);
      expect(group.killed).toContain('own 11');
    }
  });
});
