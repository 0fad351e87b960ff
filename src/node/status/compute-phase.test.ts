import { describe, expect, it } from 'vitest';
import { type RestartPolicy } from '#kube/container/container.js';
import { type V1ContainerState, type V1ContainerStatus } from '#kube/pod/v1-pod-status.js';
import { computePhase, type ContainerStatuses } from './compute-phase.js';
import { type RestartRule } from '#kube/container/restart-rule.js';

const POLICIES = ['Always', 'OnFailure', 'Never'] as const satisfies readonly RestartPolicy[];
const ended = (exitCode: number): V1ContainerState => ({
  terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', startedAt: null, finishedAt: null },
});
const RUNNING: V1ContainerState = { running: { startedAt: '2026-01-02T03:04:05Z' } };
const WAITING: V1ContainerState = { waiting: { reason: 'ContainerCreating' } };

function shown(state: V1ContainerState, facts: Partial<V1ContainerStatus> = {}): V1ContainerStatus {
  const started = state.running !== undefined;
  const basis = {
    name: 'main',
    lastState: {},
    ready: started,
    restartCount: 0,
    image: 'i',
    imageID: '',
    started,
  };
  return { ...basis, state, ...facts };
}

/** How a container may be shown, in words. */
const STATES = {
  new: shown(WAITING),
  running: shown(RUNNING),
  succeeded: shown(ended(0)),
  failed: shown(ended(1)),
  'crash loop': shown({ waiting: { reason: 'CrashLoopBackOff' } }, { lastState: ended(1) }),
  starting: shown(RUNNING, { started: false, ready: false }),
} as const satisfies Record<string, V1ContainerStatus>;
type StateName = keyof typeof STATES;

interface Shown {
  readonly init?: readonly StateName[];
  readonly sidecars?: readonly StateName[];
  readonly regular: readonly StateName[];
}

function phase(
  { init = [], sidecars = [], regular }: Shown,
  policy: RestartPolicy,
  isEnding = false,
): string {
  const all = (names: readonly StateName[]): V1ContainerStatus[] => names.map((name) => STATES[name]);
  const hasBegun = regular.some((name) => name !== 'new');
  const statuses: ContainerStatuses = {
    init: all(init),
    sidecars: all(sidecars),
    regular: all(regular),
    hasBegun,
  };
  return computePhase(statuses, () => ({ kind: 'regular', policy, rules: [] }), isEnding);
}

const ALWAYS = (): RestartRule => ({ kind: 'regular', policy: 'Always', rules: [] });

describe('the phase of a pod', () => {
  /** By restart policy, and of one that is ending. */
  it.each<[StateName[], [string, string, string], string]>([
    [['new'], ['Pending', 'Pending', 'Pending'], 'Pending'],
    [['running'], ['Running', 'Running', 'Running'], 'Running'],
    [['succeeded'], ['Running', 'Succeeded', 'Succeeded'], 'Succeeded'],
    [['failed'], ['Running', 'Running', 'Failed'], 'Failed'],
    [['crash loop'], ['Running', 'Running', 'Running'], 'Failed'],
    [['new', 'running'], ['Pending', 'Pending', 'Pending'], 'Pending'],
    [['new', 'succeeded'], ['Pending', 'Pending', 'Pending'], 'Pending'],
    [['running', 'failed'], ['Running', 'Running', 'Running'], 'Running'],
    [['running', 'crash loop'], ['Running', 'Running', 'Running'], 'Running'],
    [['succeeded', 'failed'], ['Running', 'Running', 'Failed'], 'Failed'],
    [['succeeded', 'succeeded'], ['Running', 'Succeeded', 'Succeeded'], 'Succeeded'],
    [['succeeded', 'crash loop'], ['Running', 'Running', 'Running'], 'Failed'],
  ])('whose containers are %j', (regular, expected, ending) => {
    expect(POLICIES.map((policy) => phase({ regular }, policy))).toEqual(expected);
    expect(POLICIES.map((policy) => phase({ regular }, policy, true))).toEqual([ending, ending, ending]);
  });

  it.each<[Shown, [string, string, string]]>([
    [{ init: ['new'], regular: ['new'] }, ['Pending', 'Pending', 'Pending']],
    [{ init: ['running'], regular: ['new'] }, ['Pending', 'Pending', 'Pending']],
    [{ init: ['succeeded', 'running'], regular: ['new'] }, ['Pending', 'Pending', 'Pending']],
    [{ init: ['succeeded'], regular: ['new'] }, ['Pending', 'Pending', 'Pending']],
    [{ init: ['failed'], regular: ['new'] }, ['Pending', 'Pending', 'Failed']],
    [{ init: ['crash loop'], regular: ['new'] }, ['Pending', 'Pending', 'Pending']],
    [{ init: ['succeeded'], regular: ['running'] }, ['Running', 'Running', 'Running']],
    [{ init: ['new'], regular: ['running'] }, ['Running', 'Running', 'Running']],
    [{ sidecars: ['new'], regular: ['new'] }, ['Pending', 'Pending', 'Pending']],
    [{ sidecars: ['starting'], regular: ['new'] }, ['Pending', 'Pending', 'Pending']],
    [{ sidecars: ['running'], regular: ['new'] }, ['Pending', 'Pending', 'Pending']],
    [{ sidecars: ['crash loop'], regular: ['running'] }, ['Running', 'Running', 'Running']],
    [{ sidecars: ['starting'], regular: ['running'] }, ['Running', 'Running', 'Running']],
    [{ sidecars: ['running'], regular: ['succeeded'] }, ['Running', 'Running', 'Running']],
    [{ sidecars: ['failed'], regular: ['succeeded'] }, ['Running', 'Succeeded', 'Succeeded']],
    [{ sidecars: ['crash loop'], regular: ['failed'] }, ['Running', 'Running', 'Failed']],
  ])('with init containers, %j', (containers, expected) => {
    expect(POLICIES.map((policy) => phase(containers, policy))).toEqual(expected);
  });

  it('is Pending again while a new sandbox goes through its init containers', () => {
    const statuses = { init: [STATES.running], sidecars: [], regular: [STATES.failed] };
    expect(computePhase({ ...statuses, hasBegun: false }, ALWAYS, false)).toBe('Pending');
    const withSidecar = { init: [], sidecars: [STATES.starting], regular: [STATES.failed] };
    expect(computePhase({ ...withSidecar, hasBegun: false }, ALWAYS, false)).toBe('Pending');
  });

  const RULES: Readonly<Record<string, RestartRule>> = {
    never: { kind: 'regular', policy: 'Never', rules: [] },
    always: { kind: 'regular', policy: 'Always', rules: [] },
    'on failure': { kind: 'regular', policy: 'OnFailure', rules: [] },
    'but for 42': {
      ...{ kind: 'regular', policy: 'Never' },
      rules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
    },
  };

  it.each<[Record<string, number>, string]>([
    [{ never: 0, always: 0 }, 'Running'],
    [{ never: 1, always: 1 }, 'Running'],
    [{ never: 0, 'on failure': 0 }, 'Succeeded'],
    [{ never: 0, 'on failure': 1 }, 'Running'],
    [{ never: 1, 'on failure': 0 }, 'Failed'],
    [{ 'but for 42': 42 }, 'Running'],
    [{ 'but for 42': 41 }, 'Failed'],
    [{ 'but for 42': 0, never: 0 }, 'Succeeded'],
  ])('with policies of containers that ended so: %j', (codes, expected) => {
    const regular = Object.entries(codes).map(([name, code]) => shown(ended(code), { name }));
    const statuses = { init: [], sidecars: [], regular, hasBegun: true };
    expect(computePhase(statuses, (name) => RULES[name]!, false)).toBe(expected);
  });

  it.each<[string, number, string]>([
    ['never', 1, 'Failed'],
    ['on failure', 1, 'Pending'],
    ['but for 42', 42, 'Pending'],
    ['but for 42', 1, 'Failed'],
  ])('with an init container that failed under its own policy: %s, %d', (name, code, expected) => {
    const statuses = {
      init: [shown(ended(code), { name })],
      ...{ sidecars: [], regular: [shown(WAITING)], hasBegun: false },
    };
    const findRule = (of: string): RestartRule => ({ ...RULES[of]!, kind: 'init' });
    expect(computePhase(statuses, findRule, false)).toBe(expected);
  });
});
