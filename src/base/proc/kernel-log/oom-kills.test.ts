import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type OomKill, OomKillReader } from './oom-kills.js';

const POD = '/kubepods.slice/kubepods-pod1.slice';
const CONTAINER = `${POD}/cri-containerd-ab.scope`;
const constraint = (pid: number, limited: string, group = CONTAINER): string =>
  `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=ab,mems_allowed=0,oom_memcg=${limited},task_memcg=${group},task=stress,pid=${pid},uid=0`;
const killed = (pid: number, name = 'stress'): string =>
  `Memory cgroup out of memory: Killed process ${pid} (${name}) total-vm:69636kB, anon-rss:65000kB, UID:0 pgtables:172kB oom_score_adj:999`;

/** Each line a millisecond after the one before; a number is a pause. */
function read(...lines: readonly (string | number)[]): OomKill[] {
  const reader = new OomKillReader();
  let atMs = 0;
  const kills = lines.flatMap((line) => {
    atMs += typeof line === 'number' ? line : 1;
    return typeof line === 'number' ? [] : (reader.take({ text: line, atMs }) ?? []);
  });
  return [...kills, ...[reader.finish()].filter((kill) => kill !== undefined)];
}

describe('a process that was killed for want of memory', () => {
  it('is reported with the group at its limit and its own', () => {
    expect(read(constraint(77, POD), 'Mem-Info:', killed(77))).toEqual([
      {
        ...{ atMs: 3, pid: 77, command: 'stress', limitedGroup: POD, group: CONTAINER },
        ...{ isOfMachine: false, isWhole: false },
      },
    ]);
  });

  const whole = (group: string): string =>
    `Tasks in ${group} are going to be killed due to memory.oom.group set`;

  it('is the first of those that went with it, where all of a group is killed', () => {
    // The kernel names the first process again among those of its group.
    const others = [killed(77), killed(78, 'child'), 900, killed(79, 'child'), killed(80, 'child')];
    const kills = read(constraint(77, CONTAINER), killed(77), whole(CONTAINER), ...others);
    expect(kills).toEqual([
      {
        ...{ atMs: 2, pid: 77, command: 'stress', limitedGroup: CONTAINER, group: CONTAINER },
        ...{ isOfMachine: false, isWhole: true },
      },
    ]);
  });

  it('is named by its group where the kernel leaves out the reasons of many kills', () => {
    const [one, other] = [`${POD}/cri-containerd-cd.scope`, `${POD}/cri-containerd-ef.scope`];
    const kills = read(
      ...[killed(7), whole(one), killed(8), 5_000],
      ...[killed(9), whole(other), killed(10), 5_000, killed(11)],
    );
    expect(kills.map(({ pid, group, isWhole }) => [pid, group, isWhole])).toEqual([
      ...[[7, one, true] as const, [9, other, true] as const],
      [11, undefined, false],
    ]);
  });

  it('is not taken for one of a group that is killed at the same time', () => {
    const kills = read(
      ...[constraint(77, CONTAINER), killed(77), whole(CONTAINER), killed(78)],
      ...['Out of memory: Killed process 5 (java) total-vm:9kB', constraint(90, POD, POD), killed(90)],
    );
    expect(kills.map(({ pid, isWhole, isOfMachine }) => [pid, isWhole, isOfMachine])).toEqual([
      ...[
        [77, true, false],
        [5, false, true],
      ],
      [90, false, false],
    ]);
  });

  it('is found where the log has lost its beginning', () => {
    const kills = read(whole(CONTAINER), killed(78, 'child'), killed(79, 'child'));
    expect(kills).toMatchObject([{ pid: 78, group: CONTAINER, isWhole: true }]);
  });

  it.each([',oom_memcg=/x,', ',pid=1,uid=0', 'a) total-vm:1', '(', ') b (c', ' ', '\\x0aOut of mem'])(
    'may be called anything: %s',
    (name) => {
      const line = constraint(77, POD).replace('task=stress', `task=${name}`);
      expect(read(line, killed(77, name))).toMatchObject([
        { pid: 77, command: name, limitedGroup: POD, group: CONTAINER },
      ]);
    },
  );

  it('may be the machine’s, by the lines of old kernels and new ones', () => {
    const none =
      'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=java,pid=812,uid=1000';
    for (const words of [
      'Killed process 812 (java), ',
      'Killed process 812 (java) total-vm:9kB',
      'Kill process 812 (java) score 900',
    ])
      expect(read(none, `Out of memory: ${words}`)).toMatchObject([
        { pid: 812, command: 'java', isOfMachine: true, group: '/user.slice' },
      ]);
    expect(read('Out of memory (oom_kill_allocating_task): Killed process 5 (a b) total-vm:1kB')).toEqual([
      { atMs: 1, pid: 5, command: 'a b', isOfMachine: true, isWhole: false },
    ]);
  });

  it('is not taken for that of another line', () => {
    const [kill] = read(constraint(77, POD), killed(78));
    expect(kill).toEqual({ atMs: 2, pid: 78, command: 'stress', isOfMachine: false, isWhole: false });
  });

  it('is found whatever stands between its lines, and nothing else is', () => {
    const noise = fc
      .string({ unit: 'grapheme' })
      .filter((text) => !/^(?:oom-kill|Memory cgroup|Out of memory|Tasks in)/.test(text));
    fc.assert(
      fc.property(fc.array(noise), fc.array(noise), fc.nat(99_999), (before, between, pid) => {
        const kills = read(...before, constraint(pid, POD), ...between, killed(pid), ...before);
        expect(kills.map((kill) => [kill.pid, kill.limitedGroup])).toEqual([[pid, POD]]);
      }),
    );
  });
});
