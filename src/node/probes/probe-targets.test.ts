import { describe, expect, it } from 'vitest';
import { LABELS } from '../../watch/observed/labels.js';
import { type PodStatus } from '../../watch/observed/runtime.js';
import {
  aContainer,
  aContainerStatus,
  aPod,
  aPodStatus,
  aSandbox,
  aSandboxStatus,
  BUILT_AT_NS,
} from '#testing/builders.js';
import { observedTargets } from './probe-targets.js';

const find = (status: PodStatus, error?: Error, name = 'main', nodeIp = '192.0.2.7') =>
  observedTargets({ get: () => ({ status, error }) }, () => nodeIp).find('uid-web', name);

describe('what a probe is about', () => {
  it('is the newest container of that name, at the address of the pod', () => {
    const containers = [0, 1].map((attempt) => aContainerStatus(aContainer({ attempt })));
    expect(find(aPodStatus(aPod(), { containers }))).toEqual({
      containerId: 'uid-web-main-1',
      state: 'running',
      startedAtMs: Number(BUILT_AT_NS / 1_000_000n),
      host: '10.88.0.2',
    });
  });

  it('is the newest by its attempt, also when the clock was set back before it was made', () => {
    const hourNs = 3_600_000_000_000n;
    const newest = aContainerStatus(aContainer({ attempt: 1, createdAtNs: BUILT_AT_NS - hourNs }));
    const dead = aContainerStatus(aContainer({ attempt: 0, state: 'exited' }));
    expect(find(aPodStatus(aPod(), { containers: [newest, dead] }))).toMatchObject({
      containerId: 'uid-web-main-1',
      state: 'running',
    });
  });

  it('is none that somebody made by hand under the same name', () => {
    const ours = aContainerStatus(aContainer(), { labels: { [LABELS.podUid]: 'uid-web' } });
    const byHand = aContainerStatus(aContainer({ attempt: 7 }), { labels: {} });
    expect(find(aPodStatus(aPod(), { containers: [ours, byHand] }))).toMatchObject({
      containerId: 'uid-web-main-0',
    });
  });

  it.each([
    ['running', 'running'],
    ['exited', 'exited'],
    ['created', 'waiting'],
    ['unknown', 'waiting'],
  ] as const)('waits for whatever neither runs nor has ended: %s', (state, expected) => {
    const containers = [aContainerStatus(aContainer({ state }))];
    expect(find(aPodStatus(aPod(), { containers }))).toMatchObject({ state: expected });
  });

  it('is at the address of the node when the pod is on its network', () => {
    const sandboxes = [aSandboxStatus(aSandbox(), { hostNetwork: true, ips: [] })];
    expect(find(aPodStatus(aPod(), { sandboxes }))).toMatchObject({ host: '192.0.2.7' });
    const offline = find(aPodStatus(aPod(), { sandboxes }), undefined, 'main', '');
    expect(offline).toMatchObject({ host: '127.0.0.1' });
  });

  it('has no address before the pod has one', () => {
    expect(find(aPodStatus(aPod(), { ips: [] }))).toMatchObject({ host: '' });
  });

  it('is absent when it was not seen, and unknown when nothing could be seen', () => {
    expect(find(aPodStatus(), undefined, 'other')).toBe('absent');
    expect(find(aPodStatus(aPod(), { containers: [] }), new Error('hung'))).toBe('unknown');
  });
});
