import { describe, expect, it } from 'vitest';
import { type RestartPolicy } from '#kube/container/container.js';
import {
  somePodActionInputs,
  aSidecar,
  aBareContainer,
  sayActions as say,
  type PodActionsBlueprint,
} from '#support/builders/pod-action-inputs.js';
import { computePodActions, isNothingToDo } from './compute-actions.js';
import { type PodActions } from './pod-actions.js';

const POLICIES = ['Always', 'OnFailure', 'Never'] as const satisfies readonly RestartPolicy[];

const compute = (blueprint: PodActionsBlueprint): PodActions =>
  computePodActions(somePodActionInputs(blueprint));

describe('one regular container', () => {
  /** By restart policy: Always, OnFailure, Never. */
  type Row = [string, PodActionsBlueprint, [string, string, string]];
  const same = (text: string): [string, string, string] => [text, text, text];
  const probed = (
    main: PodActionsBlueprint['containers'],
    failed: Partial<PodActionsBlueprint>,
  ): PodActionsBlueprint => ({
    spec: { containers: [aBareContainer('main', { livenessProbe: {}, startupProbe: {} })] },
    ...(main === undefined ? {} : { containers: main }),
    ...failed,
  });
  const rows: Row[] = [
    ['is not there', {}, same('start main/0')],
    ['runs', { containers: { main: {} } }, same('nothing')],
    ['was created and never started', { containers: { main: { state: 'created' } } }, same('take up main-0')],
    [
      'was created for something else',
      { containers: { main: { state: 'created', outdated: true } } },
      same('remove main-0, start main/0'),
    ],
    ['ended well', { containers: { main: { state: 'exited' } } }, ['start main/1', 'kill pod', 'kill pod']],
    [
      'failed',
      { containers: { main: { state: 'exited', exitCode: 1 } } },
      ['start main/1', 'start main/1', 'kill pod'],
    ],
    [
      'failed, and is in back-off',
      { containers: { main: { state: 'exited', exitCode: 1, delayMs: 10_000, endedForMs: 9_999 } } },
      ['wait main', 'wait main', 'kill pod'],
    ],
    [
      'failed, and its back-off is over',
      { containers: { main: { state: 'exited', exitCode: 1, delayMs: 10_000, endedForMs: 10_000 } } },
      ['start main/1', 'start main/1', 'kill pod'],
    ],
    [
      'ended, and was edited since',
      { containers: { main: { state: 'exited', outdated: true, delayMs: 10_000 } } },
      same('start main/1'),
    ],
    [
      'runs, and was edited',
      { containers: { main: { outdated: true, delayMs: 10_000 } } },
      same('kill main-0 (DefinitionChanged), start main/1'),
    ],
    [
      'fails its liveness probe',
      probed({ main: {} }, { failedLiveness: ['main-0'] }),
      [
        'kill main-0 (LivenessProbe), start main/1',
        'kill main-0 (LivenessProbe), start main/1',
        'kill pod, kill main-0 (LivenessProbe)',
      ],
    ],
    [
      'fails its startup probe again and again',
      probed({ main: { delayMs: 40_000 } }, { failedStartup: ['main-0'] }),
      [
        'kill main-0 (StartupProbe), wait main',
        'kill main-0 (StartupProbe), wait main',
        'kill pod, kill main-0 (StartupProbe)',
      ],
    ],
    [
      'is edited while its probes fail',
      probed({ main: { outdated: true } }, { failedLiveness: ['main-0'], failedStartup: ['main-0'] }),
      same('kill main-0 (DefinitionChanged), start main/1'),
    ],
    [
      'is in an unknown state',
      { containers: { main: { state: 'unknown' } } },
      ['kill main-0 (Unknown), start main/1', 'kill main-0 (Unknown), start main/1', 'kill pod'],
    ],
    [
      'ended, and another was created for it',
      { containers: { main: [{ state: 'exited', exitCode: 1 }, { state: 'created' }] } },
      same('take up main-1'),
    ],
    [
      'runs, and another was created nevertheless',
      { containers: { main: [{}, { state: 'created' }] } },
      same('remove main-1'),
    ],
    ['runs twice', { containers: { main: [{}, {}] } }, same('kill main-0 (Duplicate)')],
    [
      'runs in a sandbox that is no longer in use',
      {
        sandboxes: [{}, { state: 'exited' }],
        containers: { main: { sandboxId: 'sandbox-0' } },
      },
      same('kill main-0 (Duplicate)'),
    ],
    [
      'was created in a sandbox that is no longer in use',
      {
        sandboxes: [{}, { state: 'exited' }],
        containers: { main: { sandboxId: 'sandbox-0', state: 'created' } },
      },
      same('remove main-0, start main/0'),
    ],
  ];

  for (const [title, blueprint, expected] of rows) {
    it.each(POLICIES.map((policy, index) => [policy, expected[index]!]))(
      `that ${title} (%s)`,
      (restartPolicy, words) => {
        const spec = { ...blueprint.spec, restartPolicy };
        expect(say(compute({ ...blueprint, spec }))).toBe(words);
      },
    );
  }

  it('whose probes nobody asks for any more is not restarted for what they said', () => {
    const scene = { containers: { main: {} }, failedLiveness: ['main-0'], failedStartup: ['main-0'] };
    expect(say(compute(scene))).toBe('nothing');
  });
});

describe('a container that is there more than once', () => {
  it('stays in the sandbox in use, however new the other is', () => {
    const main = [{ sandboxId: 'sandbox-1' }, { sandboxId: 'sandbox-0' }];
    expect(say(compute({ sandboxes: [{}, { state: 'exited' }], containers: { main } }))).toBe(
      'kill main-1 (Duplicate)',
    );
  });

  it('stays as it runs, and not as it was created: init containers and sidecars, too', () => {
    const spec = { initContainers: [aSidecar('mesh'), aBareContainer('setup')] };
    const twice = [{}, { state: 'created' }] as const;
    expect(say(compute({ spec, containers: { mesh: {}, setup: twice } }))).toBe('remove setup-1');
    expect(say(compute({ spec, containers: { mesh: twice, main: {} } }))).toBe('remove mesh-1');
  });
});

describe('what a kill says', () => {
  const withProbes = {
    spec: {
      terminationGracePeriodSeconds: 7,
      containers: [
        aBareContainer('main', {
          livenessProbe: { terminationGracePeriodSeconds: 2 },
          startupProbe: { terminationGracePeriodSeconds: 3 },
        }),
      ],
    },
  };

  it.each<[string, PodActionsBlueprint, string, number]>([
    [
      'liveness',
      { containers: { main: {} }, failedLiveness: ['main-0'] },
      'Container main failed liveness probe, will be restarted',
      2,
    ],
    [
      'startup',
      { containers: { main: {} }, failedStartup: ['main-0'] },
      'Container main failed startup probe, will be restarted',
      3,
    ],
    [
      'definition',
      { containers: { main: { outdated: true } } },
      'Container main definition changed, will be restarted',
      7,
    ],
    [
      'state',
      { containers: { main: { state: 'unknown' } } },
      'Container is in "unknown" state, try killing it before restart',
      7,
    ],
  ])('of %s is what a kubelet says, with the grace period for it', (_, scene, message, grace) => {
    const [kill] = compute({ ...withProbes, ...scene }).containersToKill;
    expect(kill).toMatchObject({ id: 'main-0', message, gracePeriodSeconds: grace });
  });

  it('does not promise a restart where there is none', () => {
    const spec = { containers: [aBareContainer('main', { livenessProbe: {} }), aBareContainer('other')] };
    const { containersToKill, containersToStart, killPod } = compute({
      spec: { ...spec, restartPolicy: 'Never' },
      containers: { main: {}, other: {} },
      failedLiveness: ['main-0'],
    });
    expect(containersToKill[0]?.message).toBe('Container main failed liveness probe');
    expect([containersToStart, killPod]).toEqual([[], false]);
  });
});

describe('several containers', () => {
  const spec = { containers: [aBareContainer('a'), aBareContainer('b')] };

  it('are decided on one by one', () => {
    const containers = { a: { state: 'exited', exitCode: 1 }, b: {} } as const;
    expect(say(compute({ spec, containers }))).toBe('start a/1');
    expect(say(compute({ spec: { ...spec, restartPolicy: 'Never' }, containers }))).toBe('nothing');
  });

  it('keep the pod as long as one of them waits', () => {
    const containers = {
      a: { state: 'exited', exitCode: 1, delayMs: 20_000, endedForMs: 5_000 },
      b: { state: 'exited', exitCode: 0 },
    } as const;
    const actions = compute({ spec: { ...spec, restartPolicy: 'OnFailure' }, containers });
    expect(say(actions)).toBe('wait a');
    expect(actions.requeueAfterMs).toBe(15_000);
    expect(actions.containersInBackoff[0]?.message).toBe(
      'back-off 20s restarting failed container=a pod=web_default(uid-web)',
    );
    expect(isNothingToDo(actions)).toBe(true);
  });

  it('ask to be looked at again when the first wait is over', () => {
    const waiting = (endedForMs: number) =>
      ({ state: 'exited', exitCode: 1, delayMs: 80_000, endedForMs }) as const;
    expect(compute({ spec, containers: { a: waiting(1_000), b: waiting(30_000) } }).requeueAfterMs).toBe(
      50_000,
    );
  });

  it('that are no longer part of the pod are stopped, and removed if they never ran', () => {
    const containers = {
      a: {},
      b: {},
      old: {},
      older: { state: 'created' },
      oldest: { state: 'exited' },
    } as const;
    const actions = compute({ spec, containers });
    expect(say(actions)).toBe('kill old-0 (NotInPod), remove older-0');
    expect(actions.containersToKill[0]).toMatchObject({
      container: undefined,
      message: 'Container old is no longer part of the pod',
    });
  });

  it('that somebody put into our sandbox by hand are left alone', () => {
    const labels = {};
    const containers = {
      a: {},
      b: [{}, { labels }],
      guest: { labels },
      made: { labels, state: 'created' },
    } as const;
    expect(say(compute({ spec, containers }))).toBe('nothing');
  });

  it('leave ephemeral ones alone', () => {
    const annotations = { 'io.kubernetes.container.type': 'ephemeral' };
    expect(say(compute({ spec, containers: { a: {}, b: {}, debugger: { annotations } } }))).toBe('nothing');
  });
});

describe('a pod that is being deleted', () => {
  it('is stopped and starts nothing', () => {
    expect(say(compute({ deleted: true, containers: { main: {} } }))).toBe('kill pod');
    expect(say(compute({ deleted: true, sandboxes: [] }))).toBe('nothing');
  });
});

describe('what is written on a container as it is started', () => {
  it.each([
    ['the first', {}, 0],
    ['after the first end', { state: 'exited', delayMs: 0 }, 10_000],
    ['after a second', { state: 'exited', delayMs: 10_000, endedForMs: 10_000 }, 20_000],
    ['after many', { state: 'exited', delayMs: 300_000, endedForMs: 300_000 }, 300_000],
    ['after it ran well', { state: 'exited', delayMs: 300_000, ranForMs: 600_000 }, 10_000],
    ['after an edit', { state: 'exited', delayMs: 300_000, outdated: true }, 0],
    ['after a failed probe', { delayMs: 0 }, 10_000],
  ] as const)('is the delay after its own end: %s', (title, main, delayMs) => {
    const { containersToStart } = compute({
      spec: { containers: [aBareContainer('main', { livenessProbe: {} })] },
      ...(title === 'the first' ? {} : { containers: { main } }),
      failedLiveness: ['main-0'],
    });
    expect(containersToStart.map(({ restartDelayMs }) => restartDelayMs)).toEqual([delayMs]);
  });

  it('is its hash, which the next look finds unchanged', () => {
    const inputs = somePodActionInputs();
    const [start] = computePodActions(inputs).containersToStart;
    expect(start?.hash).toMatch(/^[0-9a-f]{16}$/);
    const annotations = { 'io.kubernetes.container.hash': start!.hash };
    expect(say(compute({ containers: { main: { annotations } } }))).toBe('nothing');
  });
});

describe('the restart count', () => {
  it('of one that was created and never ran is given again', () => {
    const main = { state: 'created', outdated: true, attempt: 3, restartCount: 3 } as const;
    expect(say(compute({ containers: { main } }))).toBe('remove main-3, start main/3');
  });

  it('goes on after containers were removed, from what is known of the last one', () => {
    expect(say(compute({ findLastRestartCount: (name) => (name === 'main' ? 7 : 0) }))).toBe('start main/8');
  });

  it('is one more than of any container that ran, in any sandbox', () => {
    const main = [
      { state: 'exited', attempt: 4, restartCount: 9, sandboxId: 'sandbox-gone', delayMs: 0 },
      { state: 'exited', attempt: 3 },
    ] as const;
    expect(say(compute({ containers: { main }, findLastRestartCount: () => 5 }))).toBe('start main/10');
  });
});

describe('a container that another agent made', () => {
  const containers = { main: { foreign: true } };

  it('is taken over as it is, and asks to have a baseline kept', () => {
    const actions = compute({ containers });
    expect(say(actions)).toBe('nothing');
    expect(actions.baselinesToKeep).toEqual([
      { containerId: 'main-0', hash: expect.stringMatching(/^[0-9a-f]{16}$/) as string },
    ]);
    const [{ hash } = { hash: '' }] = actions.baselinesToKeep;
    const later = compute({ containers, findBaseline: () => hash });
    expect([say(later), later.baselinesToKeep]).toEqual(['nothing', []]);
  });

  it('is restarted once the pod says something else than when it was taken over', () => {
    expect(say(compute({ containers, findBaseline: () => 'aaaaaaaaaaaaaaaa' }))).toBe(
      'kill main-0 (DefinitionChanged), start main/1',
    );
  });

  it('has its sandbox taken over in the same way', () => {
    const sandboxes = [{ annotations: {} }];
    const { baselinesToKeep } = compute({ containers, sandboxes });
    expect(baselinesToKeep.map(({ containerId }) => containerId)).toEqual(['sandbox-0', 'main-0']);
    const known = new Map(baselinesToKeep.map(({ containerId, hash }) => [containerId, hash]));
    const findBaseline = (id: string): string | undefined => known.get(id);
    expect(say(compute({ containers, sandboxes, findBaseline }))).toBe('nothing');
    const edited = { containers: [aBareContainer('main')], hostname: 'other' };
    expect(say(compute({ spec: edited, containers, sandboxes, findBaseline }))).toBe(
      'kill pod, sandbox 1, start main/1',
    );
  });
});
