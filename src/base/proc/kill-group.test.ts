import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { isGroupOf, killGroup, killSeen, targetsOf } from './kill-group.js';
import { findProcess, type ProcessStat } from './process-identity.js';

const children: ChildProcess[] = [];

/** An idle child that leads a process group. */
async function startLeader(): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
  children.push(child);
  await once(child, 'spawn');
  return child as ChildProcess & { readonly pid: number };
}

/** If an earlier signal had reached it, the child would end by that one. */
async function expectUntouched(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([null, 'SIGTERM']);
}

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

describe('isGroupOf', () => {
  const PARENT = 7;
  it.each([
    ['the child itself runs', { parent: PARENT }, false, true],
    ['the child was reaped and its end not reported yet', undefined, false, true],
    ['the child has ended, and the rest of its group may run', undefined, true, true],
    ['a stranger has the number before the end was reported', { parent: 1 }, false, false],
    ['a stranger has the number', { parent: 1 }, true, false],
    ['another child has the number', { parent: PARENT }, true, false],
  ])('when %s', (_when, holder, hasEnded, expected) => {
    expect(isGroupOf(holder, { hasEnded, parent: PARENT })).toBe(expected);
  });
});

describe('targetsOf', () => {
  const seen: ProcessStat = { pid: 50, startTicks: '9', state: 'S', parent: 1, group: 50, session: 50 };
  it.each([
    ['a leader with its group', seen, [-50, 50]],
    ['the group of a leader that is dead and not reaped', { ...seen, state: 'Z' }, [-50, 50]],
    ['a process of another group alone', { ...seen, group: 40 }, [50]],
    ['nobody for a number that started at another time', { ...seen, startTicks: '10' }, []],
    ['nobody for a number that is free', undefined, []],
  ])('are %s', (_what, now, expected) => {
    expect(targetsOf(seen, now)).toEqual(expected);
  });
});

describe('killGroup', () => {
  it('kills the group of a child, and what an exited child has left in it', async () => {
    const leader = await startLeader();
    killGroup(leader);
    expect(await once(leader, 'exit')).toEqual([null, 'SIGKILL']);
    const parent = spawn('sh', ['-c', 'sleep 1000 & echo $!'], { detached: true, stdio: 'pipe' });
    const closed = once(parent, 'close');
    await once(parent, 'exit');
    killGroup(parent);
    // Whatever kept the output open is gone.
    await closed;
  });

  it('does not affect the process that has the pid of an exited child now', async () => {
    const other = await startLeader();
    killGroup({ pid: other.pid, exitCode: 0, signalCode: null });
    await expectUntouched(other);
    expect(() => killGroup({ pid: undefined, exitCode: null, signalCode: null })).not.toThrow();
  });
});

describe('killSeen', () => {
  it('kills exactly the process that was seen, and no other with its pid', async () => {
    const [leader, other] = [await startLeader(), await startLeader()];
    killSeen(findProcess(leader.pid)!);
    expect(await once(leader, 'exit')).toEqual([null, 'SIGKILL']);
    killSeen({ ...findProcess(other.pid)!, startTicks: '1' });
    await expectUntouched(other);
  });
});
