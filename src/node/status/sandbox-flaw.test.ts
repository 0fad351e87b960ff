import { describe, expect, it } from 'vitest';
import { type V1PodCondition } from '#kube/pod/v1-pod-status.js';
import { type SandboxStatus } from '../../watch/observed/runtime.js';
import { somePodActionInputs } from '#support/builders/pod-action-inputs.js';
import { findSandboxCondition } from './compute-conditions.js';
import { computePodStatus } from './compute-pod-status.js';

const NOW_MS = Date.UTC(2026, 0, 2, 3, 10, 0);
const ENDED = { state: 'exited' } as const;

function conditionOf(
  sandboxes: readonly Partial<SandboxStatus>[],
  spec: { hostNetwork?: boolean } = {},
): V1PodCondition {
  const { pod, observed } = somePodActionInputs({ sandboxes, spec });
  const { conditions } = computePodStatus({
    ...{ pod, observed, previous: undefined, nowMs: NOW_MS },
    node: { hostIps: [], runtimeName: 'containerd' },
    probes: { readiness: () => true, started: () => true },
  });
  return conditions.find(({ type }) => type === 'PodReadyToStartContainers')!;
}

describe('the condition PodReadyToStartContainers', () => {
  it.each<[string, readonly Partial<SandboxStatus>[], { hostNetwork?: boolean }?]>([
    ['no pod sandbox exists', []],
    ['pod sandbox is not ready', [ENDED]],
    ['pod sandbox is not ready', [ENDED, {}]],
    ['multiple pod sandboxes are ready and need to be reconciled', [{}, {}]],
    ['multiple pod sandboxes are ready and need to be reconciled', [{}, ENDED, {}]],
    ['pod sandbox has no IP address', [{ ips: [] }]],
    [
      'network namespace mode changed and sandbox needs to be recreated',
      [{ annotations: {}, hostNetwork: false }],
      { hostNetwork: true },
    ],
  ])('says why it is False: %s', (message, sandboxes, spec) => {
    const condition = conditionOf(sandboxes, spec);
    expect(condition).toMatchObject({ status: 'False', reason: 'PodSandboxNotReady', message });
    // What a status is made of later keeps the words.
    expect(findSandboxCondition([condition])).toBe(message);
  });

  it('has neither reason nor message while it is True', () => {
    const condition = conditionOf([{}]);
    expect(condition).toMatchObject({ status: 'True' });
    expect(Object.keys(condition)).not.toContain('reason');
    expect(findSandboxCondition([condition])).toBeUndefined();
  });

  it('of an agent that wrote no message still says that there is no sandbox', () => {
    const { message: _message, reason: _reason, ...bare } = conditionOf([]);
    expect(findSandboxCondition([bare])).toBe('pod sandbox is not ready');
    expect(findSandboxCondition([])).toBe('pod sandbox is not ready');
  });
});
