import { describe, expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { CgroupProblems } from './cgroup-problems.js';

describe('the problems of cgroups', () => {
  it('are logged once each, and the oldest is forgotten when there are too many', () => {
    const logger = new LogRecorder();
    const problems = new CgroupProblems({ logger });
    const lackCpu = (pod: number): number => {
      const group = `/kubepods/pod${pod}`;
      problems.setMissing([{ controller: 'cpu', group, reason: 'refused', code: 'EIO' }]);
      return logger.lines.length;
    };
    expect([lackCpu(0), lackCpu(0)]).toEqual([1, 1]);
    for (let pod = 1; pod <= 1000; pod++) lackCpu(pod);
    expect([lackCpu(1000), lackCpu(0), lackCpu(0)]).toEqual([1001, 1002, 1002]);
  });

  it('stay in the list until the slice that has one has it no more, and are named once', () => {
    const problems = new CgroupProblems({ logger: new LogRecorder() });
    const lack = (group: string, controller = 'cpu') => [
      { controller, group, reason: 'refused' as const, code: 'EIO' },
    ];
    const groups = (): string[] =>
      problems.list().map(({ what, error }) => `${what} ${/\/\w+/.exec(error)?.[0]}`);
    problems.setMissing(lack('/a'), '/a');
    problems.setMissing([], '/b');
    expect(groups()).toEqual(['cpu /a']);
    problems.setMissing(lack('/c'), '/c');
    problems.setMissing(lack('/d', 'memory'), '/d');
    expect(groups()).toEqual(['cpu /c', 'memory /d']);
    problems.setMissing([], '/c');
    expect(groups()).toEqual(['cpu /a', 'memory /d']);
    problems.setMissing(lack('/own'));
    problems.keepSlices((slice) => slice === '/d');
    expect(groups()).toEqual(['memory /d', 'cpu /own']);
    problems.setMissing([]);
    expect(groups()).toEqual(['memory /d']);
  });
});
