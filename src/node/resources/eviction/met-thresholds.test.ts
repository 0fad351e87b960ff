import { expect, it } from 'vitest';
import { type EvictionSignal } from '#kube/node/eviction-thresholds.js';
import { toEvictionRules, type WrittenRules } from './eviction-rules.js';
import { MetThresholds } from './met-thresholds.js';

function follow(written: Partial<WrittenRules>) {
  const rules = toEvictionRules({ hard: {}, soft: {}, softGraceMs: {}, minimumReclaim: {}, ...written });
  const met = new MetThresholds(rules);
  return (atS: number, available: Partial<Record<EvictionSignal, bigint>>): string[] => {
    const supplies = Object.fromEntries(
      Object.entries(available).map(([signal, left]) => [signal, { available: left, capacity: 1_000n }]),
    );
    return met
      .observe(supplies, atS * 1_000)
      .map(({ rule }) => `${rule.isHard ? 'hard' : 'soft'} ${rule.signal}`);
  };
}

it('is met with less than the threshold, at once when it is hard', () => {
  const look = follow({ hard: { 'memory.available': '100' } });
  expect(look(0, { 'memory.available': 100n })).toEqual([]);
  expect(look(10, { 'memory.available': 99n })).toEqual(['hard memory.available']);
  expect(look(20, {})).toEqual([]);
  expect(look(30, { 'memory.available': 100n })).toEqual([]);
});

it('is met after its grace period when it is soft, which starts again when there was enough between', () => {
  const look = follow({ soft: { 'memory.available': '100' }, softGraceMs: { 'memory.available': 30_000 } });
  expect(look(0, { 'memory.available': 9n })).toEqual([]);
  expect(look(29, { 'memory.available': 9n })).toEqual([]);
  expect(look(30, { 'memory.available': 9n })).toEqual(['soft memory.available']);
  expect(look(31, { 'memory.available': 100n })).toEqual([]);
  expect(look(40, { 'memory.available': 9n })).toEqual([]);
  // What could not be measured proves nothing.
  expect(look(60, {})).toEqual([]);
  expect(look(70, { 'memory.available': 9n })).toEqual(['soft memory.available']);
});

it('is met until the minimum is reclaimed once it was acted upon, and not before', () => {
  const look = follow({
    hard: { 'nodefs.available': '100' },
    minimumReclaim: { 'nodefs.available': '50' },
  });
  expect(look(0, { 'nodefs.available': 149n })).toEqual([]);
  expect(look(10, { 'nodefs.available': 99n })).toHaveLength(1);
  expect(look(20, { 'nodefs.available': 149n })).toHaveLength(1);
  expect(look(30, { 'nodefs.available': 150n })).toEqual([]);
  expect(look(40, { 'nodefs.available': 149n })).toEqual([]);
});

it('has memory before all else, and hard ones before soft ones', () => {
  const all = { 'nodefs.available': '100', 'memory.available': '100' };
  const look = follow({
    ...{ hard: all, soft: all },
    softGraceMs: { 'nodefs.available': 0, 'memory.available': 0 },
  });
  expect(look(0, { 'nodefs.available': 1n, 'memory.available': 1n })).toEqual([
    'hard memory.available',
    'soft memory.available',
    'hard nodefs.available',
    'soft nodefs.available',
  ]);
});
