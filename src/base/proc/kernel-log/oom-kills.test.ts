import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type OomKill, OomKillReader } from './oom-kills.js';

const POD = '/kubepods.slice/kubepods-pod1.slice';
const CONTAINER = `${POD}/cri-containerd-ab.scope`;
const constraint = (pid: number, limited: string, group = CONTAINER): string =>
  `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=ab,mems_allowed=0,oom_memcg=${limited},task_memcg=${group},task=stress,pid=${pid},uid=0`;
const killed = (pid: number, name = 'stress'): string =>
  `Memory cgroup out of memory: Killed process ${pid} (${name}) total-vm:69636kB, anon-rss:65000kB, UID:0 pgtables:172kB oom_score_adj:999`;

function read(...lines: readonly string[]): OomKill[] {
  const reader = new OomKillReader();
  return lines.flatMap((line) => reader.take(line) ?? []);
}

describe('a process that was killed for want of memory', () => {
  it('is reported with the group at its limit and its own', () => {
    expect(read(constraint(77, POD), 'Mem-Info:', killed(77))).toEqual([
      {
        ...{ pid: 77, command: 'stress', limitedGroup: POD, group: CONTAINER },
        ...{ isOfMachine: false, isWhole: false },
      },
    ]);
  });

  it('is the first of those that went with it, where all of a group is killed', () => {
    const whole = `Tasks in ${CONTAINER} are going to be killed due to memory.oom.group set`;
    const kills = read(
      constraint(77, CONTAINER),
      whole,
      killed(77),
      killed(78, 'child'),
      killed(79, 'child'),
    );
    expect(kills.map(({ pid, isWhole }) => [pid, isWhole])).toEqual([[77, true]]);
  });

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
      { pid: 5, command: 'a b', isOfMachine: true, isWhole: false },
    ]);
  });

  it('is not taken for that of another line', () => {
    const [kill] = read(constraint(77, POD), killed(78));
    expect(kill).toEqual({ pid: 78, command: 'stress', isOfMachine: false, isWhole: false });
  });

  it('is found whatever stands between its lines, and nothing else is', () => {
    const noise = fc
      .string({ unit: 'grapheme' })
      .filter((text) => !/^(?:oom-kill|Memory cgroup|Out of memory|Tasks in)/.test(text));
    fc.assert(
      fc.property(fc.array(noise), fc.array(noise), fc.nat(99_999), (before, between, pid) => {
        const kills = read(...before, constraint(pid, POD), ...between, killed(pid));
        expect(kills.map((kill) => [kill.pid, kill.limitedGroup])).toEqual([[pid, POD]]);
      }),
    );
  });
});
