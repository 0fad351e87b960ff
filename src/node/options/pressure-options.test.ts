import { expect, it } from 'vitest';
import { DEFAULT_HARD_THRESHOLDS } from '#kube/node/eviction-thresholds.js';
import { resolveAgentOptions } from './resolve-agent-options.js';

it('hard thresholds in a file replace all defaults, as with a kubelet, unless they are merged', () => {
  const evictionHard = { 'memory.available': '1Gi' };
  const resolve = (config: Parameters<typeof resolveAgentOptions>[1]) =>
    resolveAgentOptions({}, config).evictionHard;
  expect(resolve({})).toEqual(DEFAULT_HARD_THRESHOLDS);
  expect(resolve({ evictionHard })).toEqual(evictionHard);
  expect(resolve({ evictionHard, mergeDefaultEvictionSettings: true })).toEqual({
    ...DEFAULT_HARD_THRESHOLDS,
    ...evictionHard,
  });
  expect(resolve({ mergeDefaultEvictionSettings: true })).toEqual(DEFAULT_HARD_THRESHOLDS);
});
