import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { SystemClock } from '../../util/clock.js';
import { findProcess, isAlive, parseProcessStat } from './process-identity.js';
import { membersOf, ProcessTable, type ProcessEntry } from './process-table.js';

function aProcess(parts: Partial<ProcessEntry> & { pid: number }): ProcessEntry {
  return { startTicks: '100', state: 'S', parent: 1, group: 1, session: 1, containerId: '', ...parts };
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
  const main = { pid: 50, startTicks: '100' };
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

  it('finds what bears the mark of a container that never ran', () => {
    expect(membersOf([inSession, marked], 'c', undefined)).toEqual([marked]);
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
