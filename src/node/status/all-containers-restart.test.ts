import { describe, expect, it } from 'vitest';
import { type ContainerRestartRule } from '#kube/container/container.js';
import {
  aBareContainer,
  aSidecar,
  type PodActionsBlueprint,
  somePodActionInputs,
} from '#support/builders/pod-action-inputs.js';
import {
  areAllRemoved,
  findContainersToReset,
  isRestartingAll,
  type RestartAllInputs,
} from './all-containers-restart.js';
import { PodContainers } from './pod-containers.js';

const RULE: ContainerRestartRule = {
  action: 'RestartAllContainers',
  exitCodes: { operator: 'In', values: [42] },
};
const SPEC = {
  initContainers: [aBareContainer('first'), aSidecar('side', { restartPolicyRules: [RULE] })],
  containers: [
    aBareContainer('main', { restartPolicy: 'Never', restartPolicyRules: [RULE] }),
    aBareContainer('helper'),
  ],
} as const;
const ASKS = { state: 'exited', exitCode: 42 } as const;
const DONE = { state: 'exited', exitCode: 0 } as const;

function inputsOf(
  containers: NonNullable<PodActionsBlueprint['containers']>,
  isOwnEnd: RestartAllInputs['isOwnEnd'] = () => true,
): RestartAllInputs {
  const { pod, observed } = somePodActionInputs({ spec: SPEC, containers });
  return { spec: pod.spec, containers: new PodContainers(observed, observed.sandboxes[0]?.id), isOwnEnd };
}

const was = (status: 'True' | 'False') =>
  [{ type: 'AllContainersRestarting', status, lastProbeTime: null, lastTransitionTime: '' }] as const;

/** With the condition of the status that is computed of these containers. */
const toReset = (...given: Parameters<typeof inputsOf>): string[] => {
  const inputs = inputsOf(...given);
  const conditions = was(isRestartingAll(inputs, []) ? 'True' : 'False');
  return findContainersToReset(inputs, conditions).map(({ status }) => status.id);
};

describe('the containers that a restart of all removes', () => {
  it('are all that there are, the one that asked for it last', () => {
    const others = { first: DONE, side: {}, helper: [DONE, {}] };
    expect(toReset({ ...others, main: ASKS })).toEqual([
      ...['helper-1', 'helper-0', 'first-0', 'side-0', 'main-0'],
    ]);
    expect(toReset({ ...others, main: [DONE, ASKS] })).toEqual([
      ...['main-0', 'helper-1', 'helper-0', 'first-0', 'side-0', 'main-1'],
    ]);
    expect(toReset({ ...others, main: ASKS, side: ASKS })).toEqual([
      ...['helper-1', 'helper-0', 'first-0', 'main-0', 'side-0'],
    ]);
  });

  it('are still all while the condition is True, also if the one that asked for it is gone or was edited', () => {
    const restarting = (...given: Parameters<typeof inputsOf>): string[] => {
      const { spec, containers } = inputsOf(...given);
      return findContainersToReset({ spec, containers }, was('True')).map(({ status }) => status.id);
    };
    expect(restarting({ helper: {}, side: {} })).toEqual(['helper-0', 'side-0']);
    expect(restarting({ main: ASKS, helper: {} })).toEqual(['helper-0', 'main-0']);
    expect(restarting({})).toEqual([]);
  });

  it('go on to be removed by an agent that finds only the one that asked for it', () => {
    expect(toReset({ main: ASKS })).toEqual(['main-0']);
  });

  it.each<[string, Parameters<typeof inputsOf>]>([
    ['no container has ended so', [{ main: {}, helper: ASKS, side: {} }]],
    ['it runs again', [{ main: [ASKS, {}] }]],
    ['it has ended otherwise since', [{ main: [ASKS, DONE] }]],
    ['its state is unknown', [{ main: { state: 'unknown', exitCode: 42 } }]],
    ['it never ran', [{ main: { state: 'created', exitCode: 42 } }]],
    ['it was ended for an edit or by a probe', [{ main: ASKS }, () => false]],
    ['nothing is there', [{}]],
  ])('are none while %s', (_, given) => {
    expect(toReset(...given)).toEqual([]);
  });
});

describe('a restart of all', () => {
  it('is under way once a container asks for it, and for one status more than anything is left', () => {
    const read = (inputs: RestartAllInputs, before?: 'True' | 'False') => {
      const isRestarting = isRestartingAll(inputs, before === undefined ? [] : was(before));
      // What the condition says is what the sync does.
      const left = findContainersToReset(inputs, was(isRestarting ? 'True' : 'False'));
      expect(left.length > 0).toBe(isRestarting && !areAllRemoved(inputs));
      return [isRestarting, areAllRemoved(inputs)];
    };
    expect(read(inputsOf({ main: {}, helper: {} }))).toEqual([false, false]);
    expect(read(inputsOf({ main: ASKS, helper: {} }))).toEqual([true, false]);
    expect(read(inputsOf({ helper: {} }), 'True')).toEqual([true, false]);
    expect(read(inputsOf({}), 'True')).toEqual([true, true]);
    expect(read(inputsOf({}), 'False')).toEqual([false, true]);
    expect(read(inputsOf({ first: {} }), 'False')).toEqual([false, false]);
  });
});
