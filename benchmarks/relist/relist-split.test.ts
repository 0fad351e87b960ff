import { expect, it } from 'vitest';
import { type Mark, partsOf } from './relist-split.js';

const at = (atMs: number, cpuMs: number): Mark => ({ atMs, cpuMs });

it('divides a relist into parts that add up, of the time and of the CPU', () => {
  const parts = partsOf([
    { began: at(0, 0), called: at(6, 3), listed: at(8, 5), ended: at(10, 6), diffMs: 1.5 },
    { began: at(20, 6), called: at(30, 11), listed: at(34, 14), ended: at(40, 18), diffMs: 2.5 },
  ]);
  expect(parts).toEqual({
    ...{ totalMs: 15, callsMs: 8, decodeMs: 3, diffMs: 2, restMs: 2 },
    ...{ cpuMs: 9, callsCpuMs: 4, decodeCpuMs: 2.5, restCpuMs: 2.5 },
  });
  const { totalMs, callsMs, decodeMs, diffMs, restMs } = parts;
  expect(callsMs + decodeMs + diffMs + restMs).toBeCloseTo(totalMs);
});
