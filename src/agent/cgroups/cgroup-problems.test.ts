import { describe, expect, it } from 'vitest';
import { LogRecorder } from '../../testing/log-recorder.js';
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
});
