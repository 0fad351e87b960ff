import { expect, it } from 'vitest';
import { enoughOf, toEvictionRules } from './eviction-rules.js';

const NONE = { hard: {}, soft: {}, softGraceMs: {}, minimumReclaim: {} };

it('puts hard and soft thresholds together with their grace periods and what is to be reclaimed', () => {
  const rules = toEvictionRules({
    hard: { 'memory.available': '100Mi', 'nodefs.available': '0%' },
    soft: { 'memory.available': '10%' },
    softGraceMs: { 'memory.available': 90_000 },
    minimumReclaim: { 'memory.available': '50Mi' },
  });
  const reclaim = { amount: 50n << 20n };
  expect(rules).toEqual([
    { signal: 'memory.available', least: { amount: 100n << 20n }, isHard: true, graceMs: 0, reclaim },
    { signal: 'memory.available', least: { share: 0.1 }, isHard: false, graceMs: 90_000, reclaim },
  ]);
  expect(rules.map((rule) => enoughOf(rule, 1_000n << 20n))).toEqual([150n << 20n, 150n << 20n]);
});

it('asks for a grace period with every soft threshold', () => {
  expect(() => toEvictionRules({ ...NONE, soft: { 'nodefs.available': '10%' } })).toThrow(
    'evictionSoftGracePeriod: has to say for how long nodefs.available may hold',
  );
});

it.each(['hard', 'soft', 'minimumReclaim'] as const)('says which field is wrong: %s', (key) => {
  const field = { hard: 'evictionHard', soft: 'evictionSoft', minimumReclaim: 'evictionMinimumReclaim' }[key];
  expect(() => toEvictionRules({ ...NONE, [key]: { 'nodefs.available': 'lots' } })).toThrow(
    `${field}: nodefs.available: "lots" is neither`,
  );
});
