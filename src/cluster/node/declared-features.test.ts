import { expect, it } from 'vitest';
import { declaredFeaturesOf } from './declared-features.js';

it('declares WebSocket towards runtimes that speak it, and nothing else that a kubelet does', () => {
  expect(declaredFeaturesOf('podloop-embedded')).toEqual([
    'ExtendWebSocketsToKubelet',
    'RestartAllContainersOnContainerExits',
  ]);
  for (const name of ['containerd', 'cri-o', ''])
    expect(declaredFeaturesOf(name)).toEqual(['RestartAllContainersOnContainerExits']);
});
