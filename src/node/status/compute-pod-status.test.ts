import { describe, expect, it } from 'vitest';
import { type Container } from '#kube/container/container.js';
import { type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { ANNOTATIONS } from '../../watch/observed/labels.js';
import { BUILT_AT_NS } from '#testing/builders.js';
import { aBareContainer, aSidecar, type PodActionsBlueprint } from '#support/builders/pod-action-inputs.js';
import {
  compute,
  conditions,
  EXITED,
  failure,
  main,
  NODE,
  NOW_MS,
  STARTED_AT,
  type Facts,
} from '#support/builders/computed-status.js';

describe('the status of a pod that waits before it is begun', () => {
  const waitsFor = 'Waiting for default/other to end: it still has cpu';
  const states = ({ initContainerStatuses = [], containerStatuses }: V1PodStatus): unknown[] =>
    [...initContainerStatuses, ...containerStatuses].map(({ state }) => state);

  it('says of each container for what', () => {
    const plain = compute({}, { waitsFor });
    expect(plain.phase).toBe('Pending');
    expect(states(plain)).toEqual([{ waiting: { reason: 'ContainerCreating', message: waitsFor } }]);
    const init = compute({ spec: { initContainers: [aBareContainer('first')] } }, { waitsFor });
    const waiting = { waiting: { reason: 'PodInitializing', message: waitsFor } };
    expect(states(init)).toEqual([waiting, waiting]);
  });

  it('says so no more once it waits no more', () => {
    const previous = compute({}, { waitsFor });
    expect(states(compute({}, { previous }))).toEqual([{ waiting: { reason: 'ContainerCreating' } }]);
  });

  it('keeps how a container ended that is to be started again', () => {
    const { state, lastState } = main(
      compute({ containers: { main: { ...EXITED, exitCode: 3 } } }, { waitsFor }),
    );
    expect(state).toEqual({ waiting: { reason: 'ContainerCreating', message: waitsFor } });
    expect(lastState.terminated?.exitCode).toBe(3);
  });
});

describe('the status of a pod that runs', () => {
  const status = compute({ containers: { main: {} } });

  it('is what Kubernetes shows', () => {
    expect(status).toEqual({
      phase: 'Running',
      conditions: [
        'PodReadyToStartContainers',
        'Initialized',
        'Ready',
        'ContainersReady',
        'PodScheduled',
      ].map((type) => ({
        type,
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: '2026-01-02T03:10:00Z',
      })),
      hostIP: '192.0.2.1',
      hostIPs: [{ ip: '192.0.2.1' }],
      podIP: '10.88.0.2',
      podIPs: [{ ip: '10.88.0.2' }],
      startTime: STARTED_AT,
      containerStatuses: [
        {
          name: 'main',
          state: { running: { startedAt: STARTED_AT } },
          lastState: {},
          ready: true,
          restartCount: 0,
          image: 'registry.example/app:1',
          imageID: 'registry.example/app@sha256:1111',
          containerID: 'containerd://main-0',
          resources: {},
          started: true,
        },
      ],
      qosClass: 'BestEffort',
    });
  });

  it('computed again says the same, times included', () => {
    expect(compute({ containers: { main: {} } }, { previous: status, nowMs: NOW_MS + 60_000 })).toEqual(
      status,
    );
  });

  it('keeps the times of conditions that did not change', () => {
    const died = compute({ containers: { main: EXITED } }, { previous: status, nowMs: NOW_MS + 60_000 });
    const times = died.conditions.map(({ type, lastTransitionTime }) => [
      type,
      lastTransitionTime.slice(14, 16),
    ]);
    expect(Object.fromEntries(times)).toEqual({
      PodReadyToStartContainers: '10',
      Initialized: '10',
      Ready: '11',
      ContainersReady: '11',
      PodScheduled: '10',
    });
  });
});

describe('ready and started', () => {
  const withProbes = (fields: Partial<Container>): PodActionsBlueprint => ({
    spec: { containers: [aBareContainer('main', fields)] },
    containers: { main: {} },
  });
  const probes = (ready: boolean | undefined, started: boolean | undefined): Facts => ({
    probes: { readiness: () => ready, started: () => started },
  });

  it.each([
    ['no probes', {}, undefined, undefined, true, true],
    ['a readiness probe that said nothing', { readinessProbe: {} }, undefined, undefined, false, true],
    ['a readiness probe that failed', { readinessProbe: {} }, false, undefined, false, true],
    ['a readiness probe that succeeded', { readinessProbe: {} }, true, undefined, true, true],
    ['a startup probe that said nothing', { startupProbe: {} }, undefined, undefined, false, false],
    ['a startup probe that succeeded', { startupProbe: {} }, undefined, true, true, true],
    ['both, and not started', { startupProbe: {}, readinessProbe: {} }, true, false, false, false],
  ] as const)('follow from %s', (_, fields, saidReady, saidStarted, ready, started) => {
    const status = compute(withProbes(fields), probes(saidReady, saidStarted));
    expect(main(status)).toMatchObject({ ready, started });
    expect(conditions(status)).toMatchObject(
      ready
        ? { Ready: 'True', ContainersReady: 'True' }
        : { Ready: 'False ContainersNotReady', ContainersReady: 'False ContainersNotReady' },
    );
  });

  it('are named where they are missing', () => {
    const spec = { containers: [aBareContainer('a'), aBareContainer('b'), aBareContainer('c')] };
    const { conditions: all } = compute({ spec, containers: { b: {} } });
    expect(all.find(({ type }) => type === 'Ready')?.message).toBe('containers with unready status: [a c]');
  });
});

describe('a pod with init containers', () => {
  const spec = {
    initContainers: [aBareContainer('setup'), aSidecar('mesh', { startupProbe: {} })],
  };
  const init = ({ initContainerStatuses = [] }: V1PodStatus): V1ContainerStatus[] => [
    ...initContainerStatuses,
  ];

  it('waits for them', () => {
    const status = compute({ spec, containers: { setup: {} } });
    expect(status.phase).toBe('Pending');
    expect(main(status).state).toEqual({ waiting: { reason: 'PodInitializing' } });
    expect(init(status).map(({ ready, started }) => [ready, started])).toEqual([
      [false, true],
      [false, false],
    ]);
    expect(conditions(status)['Initialized']).toBe('False ContainersNotInitialized');
    expect(status.conditions.find(({ type }) => type === 'Initialized')?.message).toBe(
      'containers with incomplete status: [setup mesh]',
    );
  });

  it('is initialized once they are through and sidecars have started', () => {
    const containers = { setup: EXITED, mesh: {} };
    expect(conditions(compute({ spec, containers }))['Initialized']).toBe('False ContainersNotInitialized');
    const facts = { probes: { readiness: () => undefined, started: () => true } };
    const status = compute({ spec, containers }, facts);
    expect(conditions(status)['Initialized']).toBe('True');
    expect(init(status).map(({ ready }) => ready)).toEqual([true, true]);
  });

  it('stays initialized while a sidecar is restarted', () => {
    const status = compute({ spec, containers: { setup: EXITED, mesh: EXITED, main: {} } });
    expect([status.phase, conditions(status)['Initialized']]).toEqual(['Running', 'True']);
    expect(conditions(status)['ContainersReady']).toBe('False ContainersNotReady');
  });

  it('has been through those that the runtime no longer shows', () => {
    const status = compute({ spec, containers: { mesh: {}, main: {} } });
    expect(init(status)[0]).toMatchObject({
      ready: true,
      state: { terminated: { exitCode: 0, reason: 'Completed' } },
    });
  });

  it('has been through one that was seen running and is gone, as others came after it', () => {
    const never = { ...spec, restartPolicy: 'Never' } as const;
    const previous = compute({ spec: never, containers: { setup: {} } });
    const status = compute({ spec: never, containers: { mesh: {}, main: {} } }, { previous });
    expect(status.phase).toBe('Running');
    expect(init(status)[0]).toMatchObject({ ready: true, state: { terminated: { reason: 'Completed' } } });
    const old = { ...EXITED, sandboxId: 'sandbox-0' } as const;
    const anew = compute({ spec, sandboxes: [{}, EXITED], containers: { main: old } }, { previous });
    expect(init(anew)[0]).toMatchObject({ ready: false, lastState: { terminated: { exitCode: 137 } } });
  });

  it('says why one does not start in a new sandbox that has completed in the one before', () => {
    const old = { ...EXITED, sandboxId: 'sandbox-0' } as const;
    const sandboxes = [{}, EXITED];
    const facts = { findStartFailure: failure('ErrImagePull') };
    const containers = { setup: old, mesh: old, main: old };
    const status = compute({ spec, sandboxes, containers }, facts);
    expect(init(status)[0]).toMatchObject({
      ready: false,
      state: { waiting: { reason: 'ErrImagePull' } },
      lastState: { terminated: { exitCode: 0 } },
    });
    expect(conditions(status)['Initialized']).toBe('False ContainersNotInitialized');
    const through = { ...containers, setup: [old, { ...EXITED, sandboxId: 'sandbox-1' }] } as const;
    expect(init(compute({ spec, sandboxes, containers: through }, facts))[0]!.state.terminated).toBeDefined();
  });

  it('begins again in a new sandbox', () => {
    const sandboxes = [{}, EXITED];
    const old = { ...EXITED, sandboxId: 'sandbox-0' } as const;
    const status = compute({
      spec,
      sandboxes,
      containers: { setup: [old, { sandboxId: 'sandbox-1' }], main: old },
    });
    expect([status.phase, conditions(status)['Initialized']]).toEqual([
      'Pending',
      'False ContainersNotInitialized',
    ]);
  });

  it('fails with one of them when it runs once', () => {
    const never = { ...spec, restartPolicy: 'Never' } as const;
    const status = compute({ spec: never, containers: { setup: { ...EXITED, exitCode: 1 } } });
    expect([status.phase, conditions(status)['Ready']]).toEqual(['Failed', 'False PodFailed']);
  });
});

describe('the end of a pod', () => {
  const end = { phase: 'Failed', reason: 'DeadlineExceeded', message: 'too long' } as const;

  it('replaces phase, reason and message while containers still run, and holds afterwards', () => {
    const status = compute({ containers: { main: {} } }, { end });
    expect(status).toMatchObject(end);
    expect(main(status).state.running).toBeDefined();
    const later = compute({ containers: { main: EXITED } }, { previous: status, isEnding: true });
    expect(later).toMatchObject(end);
    expect(conditions(later)['Ready']).toBe('False PodFailed');
  });

  it('that came first holds: no terminal phase becomes another', () => {
    const spec = { restartPolicy: 'Never' } as const;
    const previous = compute({ spec, containers: { main: EXITED } });
    expect(compute({ spec, containers: { main: EXITED } }, { previous, end }).phase).toBe('Succeeded');
    expect(compute({ spec, containers: { main: {} } }, { previous }).phase).toBe('Succeeded');
  });

  it('by the node for the sake of others is a disruption, from then on', () => {
    const evicted = {
      phase: 'Failed',
      reason: 'Evicted',
      message: 'low on memory',
      disruption: 'low on memory',
    } as const;
    const status = compute({ containers: { main: {} } }, { end: evicted });
    expect(status).not.toHaveProperty('disruption');
    expect(conditions(status)['DisruptionTarget']).toBe('True TerminationByKubelet');
    const later = compute({ containers: { main: EXITED } }, { previous: status, isEnding: true });
    expect(later.conditions.at(-1)).toEqual(status.conditions.at(-1));
    expect(later.conditions.at(-1)).toMatchObject({ type: 'DisruptionTarget', message: 'low on memory' });
    expect(conditions(compute({}, { end }))).not.toHaveProperty('DisruptionTarget');
  });

  it('of a pod that runs once, by the loss of its sandbox before all had begun', () => {
    const spec = { restartPolicy: 'Never', containers: [aBareContainer('a'), aBareContainer('b')] } as const;
    const status = compute({ spec, sandboxes: [EXITED], containers: { a: EXITED } });
    expect(status.phase).toBe('Failed');
    expect(status.containerStatuses[1]?.state.terminated).toMatchObject({
      exitCode: 137,
      reason: 'SandboxLost',
    });
    expect(compute({ spec, containers: { a: EXITED } }).phase).toBe('Pending');
  });

  it('by the node, which does not take it, is all that there is of it', () => {
    const rejected = { phase: 'Failed', reason: 'OutOfcpu', message: 'too little cpu' } as const;
    expect(compute({}, { end: rejected })).toMatchObject(rejected);
    expect(compute({}, { end: rejected }).containerStatuses[0]?.state.terminated).toBeUndefined();
  });
});

describe('addresses', () => {
  it('are the node’s on the host’s network', () => {
    const blueprint = { spec: { hostNetwork: true }, sandboxes: [{ hostNetwork: true, ips: [] }] };
    expect(compute(blueprint)).toMatchObject({ podIP: '192.0.2.1', podIPs: [{ ip: '192.0.2.1' }] });
  });

  it('are the node’s, too, where the runtime can make no network for pods', () => {
    expect(compute({ sandboxes: [{ hostNetwork: true, ips: [] }] }).podIP).toBe('192.0.2.1');
  });

  it('come in the order of the node’s families, one of each', () => {
    const ips = ['fd00::5', '10.88.0.5', '10.88.0.6'];
    const podIPs = (hostIps: string[]) =>
      compute({ sandboxes: [{ ips }] }, { node: { ...NODE, hostIps } }).podIPs?.map(({ ip }) => ip);
    expect(podIPs(['192.0.2.1', 'fd00::1'])).toEqual(['10.88.0.5', 'fd00::5']);
    expect(podIPs(['fd00::1'])).toEqual(['fd00::5', '10.88.0.5']);
    expect(podIPs([])).toEqual(['fd00::5', '10.88.0.5']);
  });

  it('stay when the sandbox has ended, and go with a new one', () => {
    const previous = compute({ containers: { main: {} } });
    expect(compute({ sandboxes: [EXITED] }, { previous }).podIP).toBe('10.88.0.2');
    expect(compute({ sandboxes: [{ ips: [] }] }, { previous }).podIP).toBeUndefined();
  });
});

describe('the start of a pod', () => {
  it('is written on its sandboxes and outlives them', () => {
    const annotations = { [ANNOTATIONS.podStartTime]: '2025-12-31T00:00:00Z' };
    expect(compute({ sandboxes: [{ annotations }, EXITED] }).startTime).toBe('2025-12-31T00:00:00Z');
  });

  it('is the creation of the oldest thing that is left of it, else now', () => {
    const createdAtNs = BUILT_AT_NS - 60_000_000_000n;
    expect(compute({ containers: { main: { createdAtNs } } }).startTime).toBe('2026-01-02T03:03:00Z');
    expect(compute({ sandboxes: [] }).startTime).toBe('2026-01-02T03:10:00Z');
  });

  it('never moves', () => {
    const previous = compute({ sandboxes: [] });
    expect(compute({ containers: { main: {} } }, { previous }).startTime).toBe(previous.startTime);
  });

  it('is nothing that a broken annotation says', () => {
    const annotations = { [ANNOTATIONS.podStartTime]: 'yesterday' };
    expect(compute({ sandboxes: [{ annotations }] }).startTime).toBe(STARTED_AT);
  });
});
