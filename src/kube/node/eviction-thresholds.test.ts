import { describe, expect, it } from 'vitest';
import {
  leastOf,
  parseReclaims,
  parseThresholds,
  reservedByThresholds,
  withMemoryOfPods,
} from './eviction-thresholds.js';

describe('thresholds', () => {
  it('are amounts, or shares of the capacity', () => {
    const [amount, share] = parseThresholds({ 'memory.available': '100Mi', 'nodefs.available': '12.5%' });
    expect(leastOf(amount!, 1n)).toBe(100n * 1024n ** 2n);
    expect(leastOf(share!, 1_000n)).toBe(125n);
  });

  it('are switched off by 0% and 100%', () => {
    expect(parseThresholds({ 'memory.available': '0%', 'nodefs.available': '100%' })).toEqual([]);
  });

  it('of the machine’s memory hold for that of all pods, too, where these are limited', () => {
    const pods = { enforceNodeAllocatable: ['pods'] };
    const memory = { 'memory.available': '100Mi' };
    const signalsOf = (written: Record<string, string>, options = pods): string[] =>
      parseThresholds(withMemoryOfPods(written, options)).map(({ signal }) => signal);
    expect(signalsOf(memory)).toEqual(['allocatableMemory.available', 'memory.available']);
    expect(signalsOf(memory, { enforceNodeAllocatable: ['none'] })).toEqual(['memory.available']);
    expect(signalsOf({ 'nodefs.available': '10%' })).toEqual(['nodefs.available']);
    const own = { ...memory, 'allocatableMemory.available': '5%' };
    expect(withMemoryOfPods(own, pods)).toEqual(own);
  });

  it.each([
    ['memory.free', '1Gi', 'memory.free: use one of memory.available, '],
    ['memory.available', '0', 'memory.available: "0" is neither'],
    ['memory.available', '-1Mi', '"-1Mi" is neither'],
    ['memory.available', '101%', '"101%" is neither'],
    ['memory.available', '-1%', '"-1%" is neither'],
    [
      'memory.available',
      'much',
      '"much" is neither an amount above 0, such as 100Mi, nor a share, such as 10%',
    ],
  ])('are rejected: %s<%s', (signal, text, message) => {
    expect(() => parseThresholds({ [signal]: text })).toThrow(message);
  });

  it.each([
    ['0', 0n],
    ['0Mi', 0n],
    ['0%', 0n],
    ['500Mi', 500n << 20n],
    ['10%', 100n],
  ])('have a minimum reclaim that may be zero: %s', (text, amount) => {
    const [reclaim] = parseReclaims({ 'nodefs.available': text });
    expect(leastOf(reclaim!, 1_000n)).toBe(amount);
  });

  it.each([
    ['lots', '"lots" is neither an amount, such as 100Mi, nor a share'],
    ['-1', '"-1" is neither an amount,'],
  ])('reject a minimum reclaim of %s', (text, message) => {
    expect(() => parseReclaims({ 'nodefs.available': text })).toThrow(message);
  });

  it('reserve memory and the node’s disk, and nothing that is not a resource', () => {
    const thresholds = parseThresholds({
      ...{
        'memory.available': '10%',
        'nodefs.available': '10%',
        'imagefs.available': '15%',
        'pid.available': '5%',
      },
    });
    expect(reservedByThresholds(thresholds, { memory: 1_000n, 'ephemeral-storage': 200n })).toEqual({
      ...{ memory: 100n, 'ephemeral-storage': 20n },
    });
    expect(reservedByThresholds(thresholds, { memory: 1_000n, 'ephemeral-storage': undefined })).toEqual({
      memory: 100n,
    });
  });
});
