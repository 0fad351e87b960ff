import { describe, expect, it } from 'vitest';
import { computeConditions, type ConditionFacts } from './compute-node-conditions.js';
import { type NodeCondition } from './node-object.js';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);
const LATER = NOW + 60_000;
const WELL: ConditionFacts = {
  nodeName: 'here',
  pressure: { memory: false, disk: false, pid: false },
  health: { isKnown: true, problems: [] },
  missingCapacities: [],
  nowMs: NOW,
};
const ready = (conditions: readonly NodeCondition[]) => conditions.find(({ type }) => type === 'Ready');

describe('the conditions of a node', () => {
  it('are the kubelet’s four in its words, Ready last', () => {
    const { conditions, events } = computeConditions([], WELL);
    const times = { lastHeartbeatTime: '2026-01-02T03:04:05Z', lastTransitionTime: '2026-01-02T03:04:05Z' };
    expect(conditions).toEqual([
      {
        ...{ type: 'MemoryPressure', status: 'False', reason: 'KubeletHasSufficientMemory' },
        ...{ message: 'kubelet has sufficient memory available', ...times },
      },
      {
        ...{ type: 'DiskPressure', status: 'False', reason: 'KubeletHasNoDiskPressure' },
        ...{ message: 'kubelet has no disk pressure', ...times },
      },
      {
        ...{ type: 'PIDPressure', status: 'False', reason: 'KubeletHasSufficientPID' },
        ...{ message: 'kubelet has sufficient PID available', ...times },
      },
      {
        ...{ type: 'Ready', status: 'True', reason: 'KubeletReady' },
        ...{ message: 'kubelet is posting ready status', ...times },
      },
    ]);
    expect(events.map(({ message }) => message)).toEqual([
      'Node here status is now: NodeHasSufficientMemory',
      'Node here status is now: NodeHasNoDiskPressure',
      'Node here status is now: NodeHasSufficientPID',
    ]);
  });

  it('keep their places and the time at which they began, and leave those of others alone', () => {
    const foreign: NodeCondition = { type: 'NetworkUnavailable', status: 'False', reason: 'RouteCreated' };
    const before = [foreign, ...computeConditions([], WELL).conditions];
    const { conditions, events } = computeConditions(before, {
      ...{ ...WELL, nowMs: LATER },
      pressure: { memory: true, disk: false, pid: false },
    });
    expect(conditions.map(({ type }) => type)).toEqual(before.map(({ type }) => type));
    expect(conditions[0]).toBe(foreign);
    expect(conditions[1]).toEqual({
      ...{ type: 'MemoryPressure', status: 'True', reason: 'KubeletHasInsufficientMemory' },
      message: 'kubelet has insufficient memory available',
      ...{ lastHeartbeatTime: '2026-01-02T03:05:05Z', lastTransitionTime: '2026-01-02T03:05:05Z' },
    });
    expect(ready(conditions)).toMatchObject({
      ...{ lastHeartbeatTime: '2026-01-02T03:05:05Z', lastTransitionTime: '2026-01-02T03:04:05Z' },
    });
    expect(events.map(({ reason }) => reason)).toEqual(['NodeHasInsufficientMemory']);
  });

  it('take over what the control plane has made Unknown', () => {
    const before = computeConditions([], WELL).conditions.map((each): NodeCondition => ({
      ...each,
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
    }));
    const { conditions, events } = computeConditions(before, { ...WELL, nowMs: LATER });
    expect(conditions.map(({ status }) => status)).toEqual(['False', 'False', 'False', 'True']);
    expect(conditions.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual(
      Array(4).fill('2026-01-02T03:05:05Z'),
    );
    expect(events.map(({ reason }) => reason)).toContain('NodeReady');
  });
});

describe('a node that is not Ready', () => {
  const say = (facts: Partial<ConditionFacts>, before: readonly NodeCondition[] = []) =>
    ready(computeConditions(before, { ...WELL, ...facts }).conditions);

  it('says why in the kubelet’s words, and behind them who is to blame', () => {
    const problems = ['PLEG is not healthy: pleg was last seen active 3m5s ago; threshold is 3m0s'];
    const culprit = 'ContainerStatus of default/web has hung for 2m10s';
    expect(say({ health: { isKnown: true, problems, culprit } })).toMatchObject({
      ...{ status: 'False', reason: 'KubeletNotReady' },
      message: `${problems[0]!}; ${culprit}`,
    });
    expect(say({ health: { isKnown: true, problems } })?.message).toBe(problems[0]);
  });

  it('says each of several reasons once', () => {
    const problems = ['container runtime is down', 'network state unknown', 'network state unknown'];
    const { message } = say({ health: { isKnown: true, problems }, missingCapacities: ['cpu', 'pods'] })!;
    expect(message).toBe(
      '[container runtime is down, network state unknown, missing node capacity for resources: cpu, pods]',
    );
  });

  it('is said to be so only once somebody has looked, if it was Ready before', () => {
    const health = {
      isKnown: false,
      problems: ['container runtime status check may not have completed yet'],
    };
    const wasReady = computeConditions([], WELL).conditions;
    expect(say({ health })?.status).toBe('False');
    expect(say({ health }, wasReady)?.status).toBe('True');
    expect(say({ health: { ...health, isKnown: true } }, wasReady)?.status).toBe('False');
  });
});
