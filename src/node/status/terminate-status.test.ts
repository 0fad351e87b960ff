import { describe, expect, it } from 'vitest';
import { type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import {
  somePodActionInputs,
  aSidecar,
  aBareContainer,
  type PodActionsBlueprint,
} from '#support/builders/pod-action-inputs.js';
import { computePodStatus } from './compute-pod-status.js';
import { terminateStatus } from './terminate-status.js';

const NOW_MS = Date.UTC(2026, 0, 2, 3, 10, 0);
const exited = { state: 'exited' } as const;

function terminate(blueprint: PodActionsBlueprint, isEnding = true): V1PodStatus {
  const { pod, observed } = somePodActionInputs(blueprint);
  const status = computePodStatus({
    ...{ pod, observed, previous: undefined, nowMs: NOW_MS, isEnding },
    node: { hostIps: [], runtimeName: 'containerd' },
    probes: { readiness: () => true, started: () => true },
  });
  return terminateStatus(pod.spec, status, NOW_MS + 60_000);
}

function say({ name, state }: V1ContainerStatus): string {
  const { waiting, terminated } = state;
  return `${name} ${waiting?.reason ?? `${terminated!.reason} ${terminated!.exitCode}`}`;
}

const regular = ({ containerStatuses }: V1PodStatus): string[] => containerStatuses.map(say);
const init = ({ initContainerStatuses = [] }: V1PodStatus): string[] => initContainerStatuses.map(say);

describe('the last status of a pod', () => {
  const two = { spec: { containers: [aBareContainer('a'), aBareContainer('b')] } };

  it('is what it was when all have ended', () => {
    const status = terminate({ ...two, containers: { a: exited, b: exited } });
    expect([status.phase, regular(status)]).toEqual(['Succeeded', ['a Completed 0', 'b Completed 0']]);
  });

  it('counts as failed what nobody saw the end of', () => {
    const status = terminate({ ...two, containers: { a: exited } });
    expect([status.phase, regular(status)]).toEqual([
      'Failed',
      ['a Completed 0', 'b ContainerStatusUnknown 137'],
    ]);
    expect(status.containerStatuses[1]?.state.terminated?.message).toBe(
      'The container could not be located when the pod was terminated',
    );
  });

  it('leaves nothing ready, started or running', () => {
    const status = terminate({ ...two, containers: { a: {}, b: exited } });
    expect(
      status.containerStatuses.map(({ ready, started, state }) => [ready, started, state.running]),
    ).toEqual([
      [false, false, undefined],
      [false, false, undefined],
    ]);
    const conditions = status.conditions.map(({ type, status: is, reason = '' }) =>
      `${type} ${is} ${reason}`.trim(),
    );
    expect(conditions).toEqual([
      'PodReadyToStartContainers False PodSandboxNotReady',
      'Initialized True',
      'Ready False PodFailed',
      'ContainersReady False PodFailed',
      'PodScheduled True',
    ]);
  });

  describe('with init containers', () => {
    const spec = { initContainers: [aBareContainer('one'), aBareContainer('two'), aSidecar('mesh')] };

    it('leaves those and the regular ones alone whose turn never came', () => {
      const status = terminate({ spec, containers: { one: { ...exited, exitCode: 1 } } });
      expect([...init(status), ...regular(status)]).toEqual([
        'one Error 1',
        'two PodInitializing',
        'mesh PodInitializing',
        'main PodInitializing',
      ]);
      expect(status.phase).toBe('Failed');
    });

    it('counts the first as begun in any case', () => {
      expect(init(terminate({ spec }))[0]).toBe('one ContainerStatusUnknown 137');
    });

    it('ends all once a regular one has run', () => {
      const status = terminate({ spec, containers: { mesh: exited, main: {} } });
      expect([...init(status), ...regular(status)]).toEqual([
        'one Completed 0',
        'two Completed 0',
        'mesh Completed 0',
        'main ContainerStatusUnknown 137',
      ]);
    });

    it('ends regular ones that never began once the last init container was through', () => {
      const initContainers = [aBareContainer('one')];
      const status = terminate({ spec: { initContainers }, containers: { one: exited } });
      expect(regular(status)).toEqual(['main ContainerStatusUnknown 137']);
    });
  });
});
