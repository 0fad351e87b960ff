import { expect, it } from 'vitest';
import { type V1ContainerStatus } from '#kube/pod/v1-pod-status.js';
import { type RememberedProbes } from '../../probes/probe-memory.js';
import { aServedStatus } from '#support/harness/served-pods-harness.js';
import { seedProbeResults } from './seed-probe-results.js';

it('takes over what was reported of running containers, and of no others', () => {
  const remembered: [string, string, RememberedProbes][] = [];
  const memory = { remember: (...call: [string, string, RememberedProbes]) => void remembered.push(call) };
  const [running] = aServedStatus().containerStatuses;
  const make = (containerID: string, more: Partial<V1ContainerStatus>): V1ContainerStatus => ({
    ...{ ...running!, containerID, ...more },
  });
  seedProbeResults(
    memory,
    'uid',
    aServedStatus({
      initContainerStatuses: [make('containerd://sidecar', { ready: false, started: false })],
      containerStatuses: [
        make('containerd://main', {}),
        make('containerd://ended', { state: { terminated: { exitCode: 0 } } } as Partial<V1ContainerStatus>),
      ],
    }),
  );
  seedProbeResults(memory, 'other', undefined);
  expect(remembered).toEqual([
    ['uid', 'sidecar', { ready: false, started: false }],
    ['uid', 'main', { ready: true, started: true }],
  ]);
});
