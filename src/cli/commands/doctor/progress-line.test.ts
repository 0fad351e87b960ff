import { expect, it } from 'vitest';
import { toProgressLine } from './progress-line.js';

it('says how far it is, and names the call that has not been answered for longest', () => {
  const pod = { uid: 'uid-web', namespace: 'default', name: 'web' };
  expect(toProgressLine({ step: 'listing', underWay: [{ method: 'Version', forMs: 20 }] })).toBe(
    'Listing pods and containers',
  );
  const underWay = [
    { method: 'PodSandboxStatus', pod, forMs: 3_200 },
    { method: 'Version', forMs: 5 },
  ];
  expect(toProgressLine({ step: 'inspecting', asked: 7, pods: 20, underWay })).toBe(
    'Asking for the status of pods (7 of 20); PodSandboxStatus of default/web has not been answered for 3.2s',
  );
});
