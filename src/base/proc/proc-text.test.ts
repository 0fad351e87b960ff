import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  findBootSeconds,
  findBytes,
  findCapabilities,
  findSoftLimit,
  hasCapability,
  splitStatLine,
  parseUptimeMs,
} from './proc-text.js';

const own = (name: string): string => readFileSync(`/proc/${name}`, 'latin1');

describe('a line of /proc/PID/stat', () => {
  const fields = Array.from({ length: 50 }, (_, index) => String(index + 4)).join(' ');

  it('is split behind a name that may be anything', () => {
    const property = fc.property(fc.string({ maxLength: 15 }), (command) => {
      const line = splitStatLine(`12 (${command}) S ${fields}\n`);
      expect([line?.pid, line?.command, line?.field(3), line?.field(22)]).toEqual([12, command, 'S', '22']);
      expect([line?.field(53), line?.field(54)]).toEqual(['53', undefined]);
    });
    fc.assert(property, { examples: [['a b) (c) d'], [''], [')']] });
  });

  it.each(['', '42', '42 (sh', 'x (sh) S'])('is none that is cut short: %j', (line) => {
    expect(splitStatLine(line)).toBeUndefined();
  });

  it('is that of this process', () => {
    expect(splitStatLine(own('self/stat'))?.pid).toBe(process.pid);
  });
});

describe('the other files', () => {
  it('say how long the machine has been up', () => {
    expect(parseUptimeMs('350735.47 234388.90\n')).toBeCloseTo(350_735_470);
    expect(parseUptimeMs('0')).toBe(0);
    expect(parseUptimeMs('')).toBeNaN();
  });

  it('have sizes by exactly that name', () => {
    const text =
      'MemTotal:        1000 kB\nInactive(anon):  7 kB\nInactive(file):   150 kB\nHugePages_Total: 3\n';
    expect(findBytes(text, 'MemTotal')).toBe(1_024_000);
    expect(findBytes(text, 'Inactive(file)')).toBe(153_600);
    expect([findBytes(text, 'Total'), findBytes(text, 'HugePages_Total')]).toEqual([undefined, undefined]);
    expect(findBytes(own('meminfo'), 'MemTotal')).toBeGreaterThan(1e6);
    expect(findBytes(own('self/status'), 'VmRSS')).toBeGreaterThan(1e6);
  });

  it('have capabilities', () => {
    const status = 'CapInh:\t0000000000000000\nCapPrm:\t0000000001000000\nCapEff:\t000001ffffffffff\n';
    expect(findCapabilities(status, 'CapPrm')).toBe(1n << 24n);
    expect(findCapabilities(status, 'CapBnd')).toBe(0n);
    expect([23n, 24n, 25n].map((number) => hasCapability(1n << 24n, number))).toEqual([false, true, false]);
  });

  it('have soft limits', () => {
    const limits = [
      'Limit                     Soft Limit           Hard Limit           Units     ',
      'Max stack size            8388608              unlimited            bytes     ',
      'Max address space         unlimited            unlimited            bytes     ',
    ].join('\n');
    expect(findSoftLimit(limits, 'Max stack size')).toBe(8_388_608);
    expect(findSoftLimit(limits, 'Max address space')).toBe(Infinity);
    expect(findSoftLimit(limits, 'Max open files')).toBeUndefined();
    expect(findSoftLimit(own('self/limits'), 'Max open files')).toBeGreaterThan(2);
  });

  it('have the start of the machine', () => {
    expect(findBootSeconds('cpu 1 2\nbtime 1700000000\nprocesses 9\n')).toBe(1_700_000_000);
    expect(findBootSeconds('')).toBeUndefined();
  });
});
