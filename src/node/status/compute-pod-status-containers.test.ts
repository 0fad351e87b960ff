import { describe, expect, it } from 'vitest';
import { type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { BUILT_AT_NS } from '#testing/builders.js';
import { aBareContainer, type PodActionsBlueprint } from '#support/builders/pod-action-inputs.js';
import {
  compute,
  EXITED,
  failure,
  inputsOf,
  main,
  STARTED_AT,
  type Facts,
} from '#support/builders/computed-status.js';
import { computePodStatus } from './compute-pod-status.js';

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
