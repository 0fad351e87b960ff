import { describe, expect, it } from 'vitest';
import { type PodStatus } from '../../../node/observer.js';
import { describeStatus, toScreenPod } from './runtime-pods.js';

const NOW = Date.parse('2026-01-02T03:04:05Z');
const ns = (agoMs: number): bigint => BigInt(NOW - agoMs) * 1_000_000n;

type Container = PodStatus['containers'][number];

function aContainer(name: string, more: Partial<Container> = {}): Container {
  return {
    ...{ id: `id-${name}`, name, attempt: 0, sandboxId: 's', state: 'running', createdAtNs: ns(9_000) },
    ...{ startedAtNs: ns(8_000), finishedAtNs: 0n, exitCode: 0, reason: '', message: '', restartCount: 0 },
    ...{ image: 'web:1', imageRef: '', imageId: '', labels: {}, annotations: {}, logPath: '/logs/0.log' },
    ...more,
  };
}

function aStatus(...containers: readonly Container[]): PodStatus {
  const sandbox = { id: 's', name: 'web', attempt: 0, state: 'running', createdAtNs: ns(10_000) } as const;
  const rest = { ips: [], labels: {}, annotations: {}, runtimeHandler: '', hostNetwork: false };
  const pod = {
    uid: 'u',
    namespace: 'default',
    name: 'web',
    owner: 'kubernetes',
    ips: ['192.0.2.7'],
  } as const;
  return { ...pod, sandboxes: [{ ...sandbox, ...rest }], containers };
}

const ended = (exitCode: number, reason: string): Partial<Container> => ({
  ...{ state: 'exited', exitCode, reason, finishedAtNs: ns(1_000) },
});

describe('a pod as its runtime has it', () => {
  it.each([
    ['all run', [aContainer('a'), aContainer('b')], { status: 'Running', ready: 2, total: 2 }],
    [
      'an init container has ended',
      [aContainer('a', ended(0, 'Completed')), aContainer('b')],
      { status: 'Running', ready: 1, total: 1 },
    ],
    [
      'one has failed',
      [aContainer('a', ended(137, 'OOMKilled')), aContainer('b')],
      { status: 'OOMKilled', ready: 1, total: 2 },
    ],
    [
      'all have ended well',
      [aContainer('a', ended(0, 'Completed'))],
      { status: 'Completed', ready: 0, total: 1 },
    ],
    ['one has been made', [aContainer('a', { state: 'created' })], { status: 'Created', ready: 0, total: 1 }],
    ['there is none', [], { status: 'NoContainers', ready: 0, total: 0 }],
  ] as const)('is shown when %s', (_, containers, line) => {
    expect(toScreenPod(aStatus(...containers))).toMatchObject({ ...line, createdAtMs: NOW - 10_000 });
  });

  it('is what the newest container of each name is', () => {
    const before = aContainer('a', ended(3, 'Error'));
    const now = aContainer('a', { id: 'new', attempt: 1, restartCount: 1 });
    expect(toScreenPod(aStatus(before, now))).toMatchObject({
      status: 'Running',
      ready: 1,
      total: 1,
      restarts: 1,
    });
  });

  it('is described with what the runtime tells, and nothing that commands a terminal', () => {
    const failed = aContainer('a', { ...ended(3, 'Error'), message: 'bad\x1b[2J\nmore' });
    const lines = describeStatus(aStatus(failed, aContainer('b')), NOW);
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^Name: +web$/),
        expect.stringMatching(/^IPs: +192\.0\.2\.7$/),
        expect.stringMatching(/^s +running +0 +10s ago$/),
        expect.stringMatching(/^ {2}Exit Code: +3 Error$/),
        expect.stringMatching(/^ {2}Message: +bad\^\[\[2J\.\.\.$/),
      ]),
    );
  });
});
