import { describe, expect, it } from 'vitest';
import { type Container } from '#kube/container/container.js';
import { type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { ANNOTATIONS } from '../../watch/observed/labels.js';
import { type PodStatus } from '../../watch/observed/runtime.js';
import { BUILT_AT_NS } from '#testing/builders.js';
import {
  somePodActionInputs,
  aSidecar,
  aBareContainer,
  type PodActionsBlueprint,
} from '#support/builders/pod-action-inputs.js';
import { computePodStatus, type PodStatusInputs } from './compute-pod-status.js';

const NOW_MS = Date.UTC(2026, 0, 2, 3, 10, 0);
const NODE = { hostIps: ['192.0.2.1'], runtimeName: 'containerd' };

type Facts = Partial<Omit<PodStatusInputs, 'pod' | 'observed' | 'previous'>> & { previous?: V1PodStatus };

function inputsOf(blueprint: PodActionsBlueprint, facts: Facts = {}): PodStatusInputs {
  const { pod, observed } = somePodActionInputs(blueprint);
  const probes = { readiness: () => undefined, started: () => undefined };
  return {
    pod,
    observed: withIps(observed),
    nowMs: NOW_MS,
    node: NODE,
    probes,
    previous: undefined,
    ...facts,
  };
}

const compute = (blueprint: PodActionsBlueprint, facts: Facts = {}): V1PodStatus =>
  computePodStatus(inputsOf(blueprint, facts));

function withIps(observed: PodStatus): PodStatus {
  return { ...observed, ips: observed.sandboxes.find(({ state }) => state === 'running')?.ips ?? [] };
}

const main = ({ containerStatuses }: V1PodStatus): V1ContainerStatus => containerStatuses[0]!;
const conditions = ({ conditions: all }: V1PodStatus): Record<string, string> =>
  Object.fromEntries(all.map(({ type, status, reason = '' }) => [type, `${status} ${reason}`.trim()]));
const failure = (reason: string) => () => ({ reason, message: 'because' });
const STARTED_AT = '2026-01-02T03:04:00Z';
const EXITED = { state: 'exited' } as const;

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

describe('a container', () => {
  it('says what is mounted into it, also before there is one, and as whom it runs', () => {
    const volumeMounts = [
      { name: 'data', mountPath: '/data', readOnly: true, recursiveReadOnly: 'IfPossible' as const },
    ];
    const spec = { containers: [aBareContainer('main', { volumeMounts })] };
    const told = [{ name: 'data', mountPath: '/data', readOnly: true, recursiveReadOnly: 'Enabled' }];
    const able = { canMountRecursivelyReadOnly: true };
    expect(main(compute({ spec }, able))).toMatchObject({ volumeMounts: told });
    expect(main(compute({ spec }, able))).not.toHaveProperty('user');
    const user = { uid: 1000, gid: 3000, supplementalGroups: [3000, 4000] };
    const running = compute({ spec, containers: { main: { user } } }, able);
    expect(main(running)).toMatchObject({ volumeMounts: told, user: { linux: user } });
    const alone = { uid: 0, gid: 0, supplementalGroups: [] };
    const ofRoot = compute({ containers: { main: { user: alone } } });
    expect(main(ofRoot).user).toEqual({ linux: { uid: 0, gid: 0 } });
    expect(main(ofRoot)).not.toHaveProperty('volumeMounts');
  });

  it('shows its resources as soon as the runtime has it, and for as long as it was seen', () => {
    const resources = { requests: { cpu: '100m' } };
    const spec = {
      initContainers: [aBareContainer('first', { resources })],
      containers: [aBareContainer('main')],
      ephemeralContainers: [aBareContainer('debug')],
    };
    const toldBy = (status: V1PodStatus): unknown[] =>
      [status.initContainerStatuses, status.containerStatuses, status.ephemeralContainerStatuses]
        .flatMap((each) => each ?? [])
        .map((each) => [each.name, each.resources, each.allocatedResources]);
    const none = ['first', 'main', 'debug'].map((name) => [name, undefined, undefined]);
    expect(toldBy(compute({ spec }))).toEqual(none);
    const containers = { first: { ...EXITED, exitCode: 0 }, main: { state: 'created' as const }, debug: {} };
    const seen = [
      ['first', resources, resources.requests],
      ['main', {}, undefined],
      ['debug', {}, undefined],
    ];
    const previous = compute({ spec, containers });
    expect(toldBy(previous)).toEqual(seen);
    const { first: _, ...left } = containers;
    expect(toldBy(compute({ spec, containers: left }, { previous }))).toEqual(seen);
  });

  it.each<[string, PodActionsBlueprint, Facts, Partial<V1ContainerStatus>]>([
    ['that is not there waits', {}, {}, { state: { waiting: { reason: 'ContainerCreating' } }, imageID: '' }],
    [
      'that is created waits',
      { containers: { main: { state: 'created' } } },
      {},
      { state: { waiting: { reason: 'ContainerCreating' } }, containerID: 'containerd://main-0' },
    ],
    [
      'whose image cannot be had says so',
      {},
      { findStartFailure: failure('ErrImagePull') },
      { state: { waiting: { reason: 'ErrImagePull', message: 'because' } } },
    ],
    [
      'that runs says nothing of an old failure',
      { containers: { main: {} } },
      { findStartFailure: failure('ErrImagePull') },
      { state: { running: { startedAt: STARTED_AT } } },
    ],
    [
      'of whose state the runtime knows nothing, and which never ran, waits',
      { containers: { main: { state: 'unknown', startedAtNs: 0n } } },
      {},
      { state: { waiting: { reason: 'ContainerCreating' } } },
    ],
  ])('%s', (_, blueprint, facts, expected) => {
    expect(main(compute(blueprint, facts))).toMatchObject({
      lastState: {},
      ready: false,
      ...expected,
      ...(expected.state?.running && { ready: true }),
    });
  });

  const exited = { ...EXITED, exitCode: 3, message: 'oops', restartCount: 2 } as const;
  const terminated = {
    exitCode: 3,
    reason: 'Error',
    message: 'oops: last words',
    startedAt: STARTED_AT,
    finishedAt: '2026-01-02T03:04:01Z',
    containerID: 'containerd://main-0',
  };
  const words = { findTerminationMessage: (id: string) => (id === 'main-0' ? 'last words' : undefined) };

  it('that ended says how, with its last words', () => {
    const { state, lastState, restartCount, ready, started } = main(
      compute({ containers: { main: exited } }, words),
    );
    expect({ state, lastState, restartCount, ready, started }).toEqual({
      state: { terminated },
      lastState: {},
      restartCount: 2,
      ready: false,
      started: false,
    });
  });

  it('in back-off waits, and keeps how it ended behind that', () => {
    const facts = { ...words, findStartFailure: failure('CrashLoopBackOff') };
    const status = compute({ containers: { main: exited } }, facts);
    expect(main(status)).toMatchObject({
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'because' } },
      lastState: { terminated },
    });
    expect(status.phase).toBe('Running');
  });

  it('that is not restarted does not wait', () => {
    const spec = { restartPolicy: 'Never' } as const;
    const status = compute(
      { spec, containers: { main: exited } },
      { findStartFailure: failure('CrashLoopBackOff') },
    );
    expect([main(status).state.terminated?.exitCode, status.phase]).toEqual([3, 'Failed']);
  });

  it('that runs again shows how the one before ended', () => {
    const status = compute({ containers: { main: [EXITED, exited, {}] } });
    expect(main(status)).toMatchObject({ restartCount: 2, lastState: { terminated: { exitCode: 3 } } });
    expect(main(status).state.running).toBeDefined();
  });

  it('shows how the last one ended that ran, not one that was only created', () => {
    const status = compute({ containers: { main: [exited, { state: 'created' }, {}] } });
    expect(main(status).lastState.terminated?.exitCode).toBe(3);
  });

  it('that was created after others ended waits, with the last end behind it', () => {
    const status = compute({ containers: { main: [EXITED, { state: 'created' }] } });
    expect(main(status)).toMatchObject({
      state: { waiting: { reason: 'ContainerCreating' } },
      lastState: { terminated: { exitCode: 0 } },
    });
    expect(status.phase).toBe('Running');
  });

  it('keeps its last end after the runtime removed the one before', () => {
    const before = compute({ containers: { main: exited } }, words);
    const restarted = compute({ containers: { main: { attempt: 3 } } }, { previous: before });
    expect(main(restarted).lastState).toEqual({ terminated });
    expect(
      main(compute({ containers: { main: { attempt: 3 } } }, { previous: restarted })).lastState,
    ).toEqual({ terminated });
  });

  it('in an unknown state that has run counts as ended', () => {
    const { state } = main(compute({ containers: { main: { state: 'unknown', startedAtNs: BUILT_AT_NS } } }));
    expect(state.terminated).toMatchObject({
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
      startedAt: STARTED_AT,
    });
    const previous = compute({ containers: { main: {} } });
    const later = compute({ containers: { main: { state: 'unknown' } } }, { previous });
    expect(main(later).state.terminated?.exitCode).toBe(137);
  });

  it('that was edited after its end is about to be started', () => {
    const spec = { restartPolicy: 'Never' } as const;
    const status = compute({ spec, containers: { main: exited } }, { isCurrent: () => false });
    expect(main(status)).toMatchObject({
      state: { waiting: { reason: 'ContainerCreating' } },
      lastState: { terminated: {} },
    });
    expect(status.phase).toBe('Running');
  });
});

describe('a container that is gone from the runtime', () => {
  const running = compute({ containers: { main: { restartCount: 4, attempt: 4 } } });

  it('and ran before waits for the next, and counts on', () => {
    const status = compute({}, { previous: running });
    expect(main(status)).toMatchObject({
      state: { waiting: { reason: 'ContainerCreating' } },
      lastState: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } },
      restartCount: 4,
    });
    expect(status.phase).toBe('Running');
    expect(main(compute({}, { previous: status }))).toEqual(main(status));
  });

  it('and ran before is the failure of a pod that runs once, or is ending', () => {
    const never = compute({ spec: { restartPolicy: 'Never' } }, { previous: running });
    expect([never.phase, main(never).state.terminated?.exitCode]).toEqual(['Failed', 137]);
    const ending = compute({}, { previous: running, isEnding: true });
    expect([ending.phase, main(ending).state.terminated?.exitCode]).toEqual(['Failed', 137]);
  });

  it('and had ended stays as it was', () => {
    const previous = compute({ spec: { restartPolicy: 'OnFailure' }, containers: { main: EXITED } });
    const status = compute({ spec: { restartPolicy: 'OnFailure' } }, { previous });
    expect([main(status), status.phase]).toEqual([main(previous), 'Succeeded']);
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

describe('what a runtime says of a container', () => {
  const message = 'exec: "/bin/s3cret": no such file';
  const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } }];
  const end = (command: readonly string[]): string | undefined => {
    const containers = { main: { ...EXITED, exitCode: 128 } };
    const inputs = inputsOf({ containers }, { isEnding: true });
    const observed = {
      ...inputs.observed,
      containers: inputs.observed.containers.map((each) => ({ ...each, message })),
    };
    const spec = { ...inputs.pod.spec, containers: [{ ...inputs.pod.spec.containers[0]!, env, command }] };
    const status = computePodStatus({ ...inputs, observed, pod: { ...inputs.pod, spec } });
    return main(status).state.terminated?.message;
  };

  it('is no longer than what an API server takes of many containers', () => {
    const long = 'x'.repeat(2 * 1024 * 1024);
    const findStartFailure = () => ({ reason: 'CreateContainerError', message: long });
    const { waiting } = main(compute({}, { findStartFailure })).state;
    expect(waiting?.message).toMatch(/^x+… \(cut, 2097152 bytes in all\)$/);
    expect(Buffer.byteLength(waiting!.message!)).toBe(32 * 1024);
  });

  it('is shown, unless its command has Secrets in it', () => {
    expect(end(['run'])).toBe(message);
    expect(end(['/bin/$(TOKEN)'])).toBe('what the runtime says of it may quote a Secret, and is not shown');
  });
});
