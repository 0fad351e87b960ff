import { expect, it } from 'vitest';
import { aSandbox, aSandboxStatus } from '#testing/builders.js';
import { hookHostOf } from './hook-host.js';

it.each([
  ['the pod’s address', ['10.88.0.2', 'fd00::2'], false, '10.88.0.2'],
  ['this machine on the node’s network', [], true, '127.0.0.1'],
  ['unknown where there is no address', [], false, ''],
])('is %s', (_, ips, hostNetwork, expected) => {
  const sandboxes = [aSandboxStatus(aSandbox(), { hostNetwork, ips })];
  expect(hookHostOf({ ips, sandboxes })).toBe(expected);
});

it('is unknown without a sandbox', () => {
  expect(hookHostOf({ ips: [], sandboxes: [] })).toBe('');
});
