import { expect, it } from 'vitest';
import { LinuxContainerResources } from '#watch/messages';
import { computeSettings, toCpuWeight } from './resource-settings.js';

it.each([
  [0, 1],
  [2, 1],
  [102, 17],
  [1024, 100],
  [2048, 174],
  [262_144, 10_000],
  [1_000_000, 10_000],
])('a CPU share of %d is a weight of %d', (shares, weight) => {
  expect(toCpuWeight(shares)).toBe(weight);
});

it('has all of a container killed at once where memory is limited, and is without effect elsewhere', () => {
  const [setting] = computeSettings(
    LinuxContainerResources.fromPartial({ unified: { 'memory.oom.group': '1' } }),
    2,
  );
  expect(setting).toEqual({ controller: 'memory', file: 'memory.oom.group', value: '1', required: false });
  const [high] = computeSettings(LinuxContainerResources.fromPartial({ unified: { 'memory.high': '1' } }), 2);
  expect(high).toMatchObject({ required: true });
});
