import { describe, expect, it } from 'vitest';
import { ANNOTATIONS } from '../../../watch/observed/labels.js';
import {
  somePodActionInputs,
  aSidecar,
  aBareContainer,
  sayActions,
  type PodActionsBlueprint,
} from '#support/builders/pod-action-inputs.js';
import { computePodActions, isNothingToDo } from './compute-actions.js';
import { sandboxHash } from './container-hash.js';

const say = (blueprint: PodActionsBlueprint): string =>
  sayActions(computePodActions(somePodActionInputs(blueprint)));
const exited = { state: 'exited' } as const;
const failed = { state: 'exited', exitCode: 1 } as const;
const two = [aBareContainer('a'), aBareContainer('b')];

describe('a sandbox', () => {
  it.each([
    [
      'there is none',
      { sandboxes: [] },
      'sandbox 0, start main/0',
      'No sandbox for pod can be found. Need to start a new one',
    ],
    [
      'two are ready',
      { sandboxes: [{}, {}] },
      'kill pod, sandbox 2, start main/0',
      'Multiple sandboxes are ready for Pod. Need to reconcile them',
    ],
    [
      'the newest is not ready',
      { sandboxes: [exited, {}] },
      'kill pod, sandbox 2, start main/0',
      'No ready sandbox for pod can be found. Need to start a new one',
    ],
    [
      'nobody knows how the newest is',
      { sandboxes: [{ state: 'unknown' }] },
      'kill pod, sandbox 1, start main/0',
      'No ready sandbox for pod can be found. Need to start a new one',
    ],
    [
      'another agent put it on the host’s network and it should not be',
      { sandboxes: [{ hostNetwork: true, annotations: {} }] },
      'kill pod, sandbox 1, start main/0',
      'Sandbox for pod has changed. Need to start a new one',
    ],
    [
      'another agent did not put it on the host’s network and it should be',
      { spec: { hostNetwork: true }, sandboxes: [{ annotations: {} }] },
      'kill pod, sandbox 1, start main/0',
      'Sandbox for pod has changed. Need to start a new one',
    ],
    [
      'it has no address',
      { sandboxes: [{ ips: [] }] },
      'kill pod, sandbox 1, start main/0',
      'Sandbox for pod has no IP address. Need to start a new one',
    ],
    [
      'the pod was edited in what it is made of',
      { sandboxes: [{ annotations: { [ANNOTATIONS.sandboxHash]: 'feedfeedfeedfeed' } }] },
      'kill pod, sandbox 1, start main/0',
      'Sandbox for pod has changed. Need to start a new one',
    ],
  ] as const satisfies [string, PodActionsBlueprint, string, string][])(
    'is recreated when %s',
    (_, blueprint, words, message) => {
      const actions = computePodActions(somePodActionInputs(blueprint));
      expect(sayActions(actions)).toBe(words);
      expect(actions.sandboxMessage).toBe(message);
      expect(actions.sandboxId).toBeUndefined();
    },
  );

  it.each([
    [
      'needs no address on the host’s network',
      { spec: { hostNetwork: true }, sandboxes: [{ hostNetwork: true, ips: [] }] },
    ],
    ['may have an ended one behind it', { sandboxes: [{}, exited] }],
    ['of another agent says nothing of what it was made of', { sandboxes: [{ annotations: {} }] }],
  ] as const satisfies [string, PodActionsBlueprint][])('%s', (_, blueprint) => {
    const actions = computePodActions(somePodActionInputs(blueprint));
    expect([sayActions(actions), actions.sandboxId]).toEqual([
      'start main/0',
      expect.stringMatching(/^sandbox-/),
    ]);
  });

  it.each([
    ['on the host’s network where the runtime has no other', { hostNetwork: true, ips: [] }, {}],
    ['in a network of its own without an address once something is in it', { ips: [] }, { main: {} }],
    ['without an address where another try gave none either', { ips: [], attempt: 1 }, {}],
  ] as const)('of ours stays as the runtime makes it: %s', (_, sandbox, containers) => {
    const actions = computePodActions(somePodActionInputs({ sandboxes: [sandbox], containers }));
    expect([actions.createSandbox, actions.killPod, actions.sandboxMessage]).toEqual([
      false,
      false,
      undefined,
    ]);
  });

  it('that carries the hash of what the pod says is in order', () => {
    const { pod } = somePodActionInputs();
    const annotations = { [ANNOTATIONS.sandboxHash]: sandboxHash(pod) };
    expect(say({ sandboxes: [{ annotations }], containers: { main: {} } })).toBe('nothing');
  });

  it('is recreated with what runs in the old one, at once and with the delays that it had', () => {
    const sandboxes = [{ annotations: { [ANNOTATIONS.sandboxHash]: 'feedfeedfeedfeed' } }];
    const containers = { a: { delayMs: 40_000 }, b: { delayMs: 40_000, ranForMs: 600_000 } };
    const actions = computePodActions(
      somePodActionInputs({ spec: { containers: two }, sandboxes, containers }),
    );
    expect(sayActions(actions)).toBe('kill pod, sandbox 1, start a/1, start b/1');
    expect(actions.containersToStart.map(({ restartDelayMs }) => restartDelayMs)).toEqual([40_000, 0]);
  });

  it('is made although all containers wait for their back-off', () => {
    const main = { ...failed, delayMs: 20_000 };
    expect(say({ sandboxes: [exited], containers: { main } })).toBe('kill pod, sandbox 1, wait main');
  });

  it('takes created containers of the old one with it', () => {
    const main = [exited, { state: 'created' }] as const;
    expect(say({ sandboxes: [exited], containers: { main } })).toBe(
      'kill pod, remove main-1, sandbox 1, start main/1',
    );
  });

  it('is stopped when life is left in one that ended', () => {
    expect(say({ sandboxes: [exited], spec: { restartPolicy: 'Never' }, containers: { main: {} } })).toBe(
      'kill pod',
    );
  });
});

describe('a lost sandbox', () => {
  it('is not recreated for a pod whose containers all succeeded', () => {
    const spec = { containers: two, restartPolicy: 'OnFailure' } as const;
    expect(say({ spec, sandboxes: [exited], containers: { a: exited, b: exited } })).toBe('nothing');
    expect(say({ spec, sandboxes: [exited], containers: { a: exited, b: failed } })).toBe(
      'kill pod, sandbox 1, start b/1',
    );
  });

  it.each([
    ['ended', { a: exited }],
    ['failed', { a: failed }],
    ['ended before others began', { a: exited, b: { state: 'created' } }],
  ] as const)('is the end of a pod that runs once and of which one container %s', (_, containers) => {
    const actions = computePodActions(
      somePodActionInputs({
        spec: { containers: two, restartPolicy: 'Never' },
        sandboxes: [exited],
        containers,
      }),
    );
    expect([actions.createSandbox, actions.containersToStart]).toEqual([false, []]);
  });

  it('is recreated for a pod that runs once and has not begun', () => {
    const spec = { containers: two, restartPolicy: 'Never' } as const;
    expect(say({ spec, sandboxes: [exited] })).toBe('kill pod, sandbox 1, start a/0, start b/0');
  });

  it('is recreated for a pod that runs once and was edited', () => {
    const containers = { main: { ...failed, outdated: true } };
    expect(say({ spec: { restartPolicy: 'Never' }, sandboxes: [exited], containers })).toBe(
      'kill pod, sandbox 1, start main/1',
    );
  });

  it('is recreated for the edited container alone, although another one lives on in it', () => {
    const spec = { containers: two, restartPolicy: 'Never' } as const;
    const containers = { a: {}, b: { ...exited, outdated: true } };
    expect(say({ spec, sandboxes: [exited], containers })).toBe('kill pod, sandbox 1, start b/1');
  });

  it('is recreated for a container that lives on in it and was edited', () => {
    const containers = { main: { outdated: true, delayMs: 40_000 } };
    const spec = { restartPolicy: 'Never' } as const;
    expect(say({ spec, sandboxes: [exited], containers })).toBe('kill pod, sandbox 1, start main/1');
  });

  describe('of a pod with init containers', () => {
    const spec = {
      initContainers: [aBareContainer('one'), aBareContainer('two')],
      restartPolicy: 'Never',
    } as const;

    it('begins again with the first, under any policy that restarts', () => {
      const containers = { one: exited, two: exited, main: exited };
      expect(say({ spec: { ...spec, restartPolicy: 'Always' }, sandboxes: [exited], containers })).toBe(
        'kill pod, sandbox 1, start one/1',
      );
    });

    it('begins again when the pod runs once and none of them failed', () => {
      expect(say({ spec, sandboxes: [exited], containers: { one: exited } })).toBe(
        'kill pod, sandbox 1, start one/1',
      );
    });

    it('is the end of a pod that runs once when one of them failed or was under way', () => {
      expect(say({ spec, sandboxes: [exited], containers: { one: failed } })).toBe('nothing');
      expect(say({ spec, sandboxes: [exited], containers: { one: exited, two: {} } })).toBe('kill pod');
    });
  });
});

describe('an edit of what the sandbox is made of', () => {
  const sandboxes = [{ annotations: { [ANNOTATIONS.sandboxHash]: 'feedfeedfeedfeed' } }];

  it('restarts what runs, also where nothing else is restarted, and not what has ended', () => {
    const spec = { containers: two, restartPolicy: 'Never' } as const;
    expect(say({ spec, sandboxes, containers: { a: {}, b: exited } })).toBe('kill pod, sandbox 1, start a/1');
  });

  it('of a pod that has run its course changes nothing more', () => {
    const spec = { restartPolicy: 'Never' } as const;
    expect(say({ spec, sandboxes, containers: { main: exited } })).toBe('kill pod');
    const ended = { spec, sandboxes: [{ ...sandboxes[0], ...exited }], containers: { main: exited } };
    expect(isNothingToDo(computePodActions(somePodActionInputs(ended)))).toBe(true);
  });
});

describe('init containers', () => {
  const spec = { initContainers: [aBareContainer('one'), aBareContainer('two')] };

  it.each([
    ['the first at the beginning', {}, 'start one/0'],
    ['nothing while one runs', { one: {} }, 'nothing'],
    ['the next when one is through', { one: exited }, 'start two/0'],
    ['a failed one again', { one: failed }, 'start one/1'],
    ['a failed one later', { one: { ...failed, delayMs: 10_000 } }, 'wait one'],
    ['one that was created', { one: { state: 'created' } }, 'take up one-0'],
    ['one whose state nobody knows', { one: { state: 'unknown' } }, 'kill one-0 (Unknown), start one/1'],
    ['the next although those before it were removed', { two: exited }, 'start main/0'],
    ['the regular ones when all are through', { one: exited, two: exited }, 'start main/0'],
    [
      'one that runs and was edited',
      { one: { outdated: true } },
      'kill one-0 (DefinitionChanged), start one/1',
    ],
    ['one that ended last and was edited', { one: { ...failed, outdated: true } }, 'start one/1'],
    ['none again once a regular one is there', { one: { ...exited, outdated: true }, main: {} }, 'nothing'],
    ['none again when a regular one has died', { main: failed }, 'start main/1'],
    [
      'the first when they ran in another sandbox',
      { one: { ...exited, sandboxId: 'sandbox-old' } },
      'start one/1',
    ],
  ] as const)('start %s', (_, containers, words) => {
    expect(say({ spec, containers })).toBe(words);
  });

  it('are over as soon as one of the regular ones is there', () => {
    expect(say({ spec: { ...spec, containers: two }, containers: { a: {} } })).toBe('start b/0');
  });

  it('end a pod that runs once when one fails', () => {
    const never = { ...spec, restartPolicy: 'Never' } as const;
    expect(say({ spec: never, containers: { one: failed } })).toBe('kill pod');
    expect(say({ spec: never, containers: { one: { state: 'unknown' } } })).toBe('kill pod');
    expect(say({ spec: never, containers: { one: exited } })).toBe('start two/0');
  });
});

describe('sidecars', () => {
  const spec = {
    initContainers: [aSidecar('mesh', { startupProbe: {}, livenessProbe: {} }), aBareContainer('setup')],
  };
  const started = ['mesh-0'];

  it('let the next one begin once they have started', () => {
    expect(say({ spec, containers: { mesh: {} } })).toBe('nothing');
    expect(say({ spec, containers: { mesh: {} }, started })).toBe('start setup/0');
    expect(say({ spec: { initContainers: [aSidecar('mesh')] }, containers: { mesh: {} } })).toBe(
      'start main/0',
    );
  });

  it.each([
    ['while init containers run', { mesh: exited, setup: {} }, 'start mesh/1'],
    ['before the next init container begins', { mesh: exited }, 'start mesh/1'],
    [
      'together with regular ones',
      { mesh: exited, setup: exited, main: failed },
      'start mesh/1, start main/1',
    ],
    [
      'after a back-off of their own',
      { mesh: { ...exited, delayMs: 1 }, setup: exited, main: {} },
      'wait mesh',
    ],
    ['when nothing of them is left', { setup: exited, main: {} }, 'start mesh/0'],
    [
      'when they were edited',
      { mesh: { outdated: true }, main: {} },
      'kill mesh-0 (DefinitionChanged), start mesh/1',
    ],
    [
      'when nobody knows their state',
      { mesh: { state: 'unknown' }, main: {} },
      'kill mesh-0 (Unknown), start mesh/1',
    ],
    ['when they were created', { mesh: { state: 'created' }, main: {} }, 'take up mesh-0'],
  ] as const)('are started again %s, under any policy', (_, containers, words) => {
    expect(say({ spec, containers, started })).toBe(words);
    const [onlyMesh] = words.split(', start main');
    const never = { ...spec, restartPolicy: 'Never' } as const;
    if (!words.includes('main')) expect(say({ spec: never, containers, started })).toBe(onlyMesh);
  });

  it('are restarted when their probes fail', () => {
    const containers = { mesh: {}, main: {} };
    expect(say({ spec, containers, failedLiveness: ['mesh-0'] })).toBe(
      'kill mesh-0 (LivenessProbe), start mesh/1',
    );
    expect(say({ spec, containers, failedStartup: ['mesh-0'] })).toBe(
      'kill mesh-0 (StartupProbe), start mesh/1',
    );
  });

  it('keep no pod alive', () => {
    const never = { ...spec, restartPolicy: 'Never' } as const;
    expect(say({ spec: never, containers: { mesh: {}, setup: exited, main: exited }, started })).toBe(
      'kill pod',
    );
    expect(say({ spec: never, containers: { mesh: exited, setup: exited, main: exited } })).toBe('kill pod');
  });

  it('are added to a pod that runs, and init containers are not', () => {
    const initContainers = [aBareContainer('new'), aSidecar('extra')];
    expect(say({ spec: { initContainers }, containers: { main: {} } })).toBe('start extra/0');
  });

  it('say what they are when they are killed', () => {
    const { containersToKill } = computePodActions(
      somePodActionInputs({ spec, containers: { mesh: {}, main: {} }, failedLiveness: ['mesh-0'] }),
    );
    expect(containersToKill[0]?.message).toBe('Init container mesh failed liveness probe, will be restarted');
  });
});
