import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { findProcess, isAlive, parseProcessStat } from './child-identity.js';
import { membersOf, ProcessTable, type ProcessEntry, sendSignal } from './process-table.js';

function aProcess(parts: Partial<ProcessEntry> & { pid: number }): ProcessEntry {
  return { startTicks: '100', state: 'S', parent: 1, group: 1, session: 1, containerId: '', ...parts };
}

/** Seven numbers that processes get by the kernel's rules, and who of them descends from the container's entrypoint. */
class NumberWorld {
  readonly #processes = new Map<number, ProcessEntry & { readonly ours: boolean }>();
  #now = 100;
  #endedAt: number | undefined;

  constructor() {
    this.#add(1, 1, true);
    this.#add(2, 2, false);
  }

  get entries(): readonly ProcessEntry[] {
    return [...this.#processes.values()];
  }

  get leader() {
    return { pid: 1, startTicks: '100', heldUntilTicks: this.#endedAt };
  }

  isOurs(pid: number): boolean {
    return this.#processes.get(pid)?.ours === true;
  }

  wasThereAtTheEnd({ pid, session, startTicks }: ProcessEntry): boolean {
    return this.isOurs(pid) && session === 1 && Number(startTicks) <= (this.#endedAt ?? Infinity);
  }

  step(kind: 'fork' | 'daemon' | 'end' | 'session', parent: number, victim: number): void {
    this.#now++;
    const process = this.#processes.get(parent);
    if (kind === 'end') {
      if (victim === 1 && this.#processes.get(1)?.startTicks === '100') this.#endedAt ??= this.#now;
      if (victim !== 2) this.#processes.delete(victim);
    } else if (process !== undefined && kind === 'session') {
      const isLeader = this.entries.some(({ session }) => session === process.pid);
      if (!isLeader) this.#processes.set(parent, { ...process, session: parent });
    } else if (process !== undefined) {
      const pid = this.#freeNumber();
      if (pid === undefined) return;
      this.#add(pid, kind === 'daemon' ? pid : process.session, process.ours);
    }
  }

  /** A number is taken as long as a process or a session has it. */
  #freeNumber(): number | undefined {
    const isFree = (number: number) =>
      !this.#processes.has(number) && !this.entries.some(({ session }) => session === number);
    return [1, 2, 3, 4, 5, 6, 7].find(isFree);
  }

  #add(pid: number, session: number, ours: boolean): void {
    const startTicks = String(this.#now);
    this.#processes.set(pid, { ...aProcess({ pid, session, startTicks }), ours });
  }
}

describe('parseProcessStat', () => {
  it('reads past a name that looks like fields', () => {
    const line = '42 (a) R 1 (b) S 7 8 9 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 12345 1 2';
    expect(parseProcessStat(line)).toEqual({
      pid: 42,
      state: 'S',
      parent: 7,
      group: 8,
      session: 9,
      startTicks: '12345',
    });
  });

  it.each([[''], ['42 (sh'], ['42 (sh) S 1 2 3']])('finds nothing in %j', (line) => {
    expect(parseProcessStat(line)).toBeUndefined();
  });
});

describe('isAlive', () => {
  it('holds for this process and for none of the same number that started at another time', () => {
    const self = findProcess(process.pid)!;
    expect(isAlive(self)).toBe(true);
    expect(isAlive({ ...self, startTicks: '1' })).toBe(false);
  });
});

describe('membersOf', () => {
  const main = { pid: 50, startTicks: '100', heldUntilTicks: 300 };
  const inSession = aProcess({ pid: 51, session: 50 });
  const marked = aProcess({ pid: 60, session: 60, containerId: 'c' });
  const other = aProcess({ pid: 70, containerId: 'd' });

  it('finds the session of the entrypoint and what bears the mark, dead ones left out', () => {
    const zombie = aProcess({ pid: 52, session: 50, state: 'Z' });
    expect(membersOf([inSession, marked, other, zombie], 'c', main)).toEqual([inSession, marked]);
  });

  it('trusts no session whose number has gone to somebody else', () => {
    const recycled = aProcess({ pid: 50, session: 50, startTicks: '999' });
    const child = aProcess({ pid: 53, session: 50 });
    expect(membersOf([recycled, child, marked], 'c', main)).toEqual([marked]);
  });

  it('trusts a session without a leader only by a member that is known to be its own', () => {
    const early = aProcess({ pid: 51, session: 50, startTicks: '300' });
    const late = aProcess({ pid: 52, session: 50, startTicks: '301' });
    const ended = { ...early, state: 'Z' };
    const ofOther = aProcess({ pid: 53, session: 50, startTicks: '400', containerId: 'd' });
    const ownMark = { ...ofOther, containerId: 'c' };
    const leader = aProcess({ pid: 50, session: 50 });
    const { heldUntilTicks: _, ...unknown } = main;
    expect(membersOf([early, late], 'c', main)).toEqual([early, late]);
    expect(membersOf([ended, late], 'c', main)).toEqual([late]);
    expect(membersOf([late, ofOther], 'c', main)).toEqual([]);
    expect(membersOf([late, ownMark], 'c', main)).toEqual([late, ownMark]);
    expect(membersOf([late], 'c', unknown)).toEqual([]);
    expect(membersOf([late, ownMark], 'c', unknown)).toEqual([late, ownMark]);
    expect(membersOf([leader, late], 'c', unknown)).toEqual([leader, late]);
  });

  it('never takes a stranger for a member, however the numbers come round', () => {
    // The container's entrypoint has number 1 at first.
    const event = fc.record({
      kind: fc.constantFrom('fork', 'daemon', 'end', 'session'),
      parent: fc.nat(7),
      victim: fc.nat(7),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        const world = new NumberWorld();
        for (const { kind, parent, victim } of events) world.step(kind, parent, victim);
        const found = membersOf(world.entries, 'c', world.leader);
        expect(found.filter(({ pid }) => !world.isOurs(pid))).toEqual([]);
        // While the entrypoint runs, and of those that were there at its end, none is missed.
        const missed = world.entries.filter(
          (each) => world.isOurs(each.pid) && each.session === 1 && !found.includes(each),
        );
        if (world.entries.some((each) => world.wasThereAtTheEnd(each))) expect(missed).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('finds what bears the mark of a container that never ran', () => {
    expect(membersOf([inSession, marked], 'c', undefined)).toEqual([marked]);
  });
});

describe('sendSignal', () => {
  it('reaches the very process alone', async () => {
    const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
    await once(child, 'spawn');
    const identity = findProcess(child.pid!)!;
    expect(sendSignal({ ...identity, startTicks: '1' }, 'SIGKILL')).toBe(false);
    expect(sendSignal(identity, 'SIGTERM')).toBe(true);
    expect(await once(child, 'exit')).toEqual([null, 'SIGTERM']);
    expect(sendSignal(identity, 'SIGKILL')).toBe(false);
  });
});

describe('ProcessTable', () => {
  it('kills by session and by mark', async () => {
    const env = { PATH: process.env['PATH'], PODLOOP_CONTAINER_ID: 'test-of-process-table' };
    const child = spawn('sleep', ['1000'], { env, stdio: 'ignore' });
    const exited = once(child, 'exit');
    await once(child, 'spawn');
    const table = new ProcessTable({ clock: new SystemClock() });
    await table.killContainer('test-of-another-process-table', undefined);
    expect(child.signalCode).toBeNull();
    await table.killContainer('test-of-process-table', undefined);
    expect(await exited).toEqual([null, 'SIGKILL']);
  });

  it('looks once for everybody who asks at the same time', async () => {
    const table = new ProcessTable({ clock: new SystemClock() });
    const [one, two] = await Promise.all([table.scan(), table.scan()]);
    expect(one).toBe(two);
    expect(one.some(({ pid }) => pid === process.pid)).toBe(true);
    expect(await table.scan()).not.toBe(one);
  });
});
