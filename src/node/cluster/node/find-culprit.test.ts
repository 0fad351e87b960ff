import { describe, expect, it } from 'vitest';
import { type PlegHealth } from '../../../watch/pleg/index.js';
import { type CriCall } from '#base/channels/channels.js';
import { findCulprit } from './find-culprit.js';

type Stuck = PlegHealth['stuckPods'][number];

const web = { uid: 'u', namespace: 'default', name: 'web' };
const stuck = (more: Partial<Stuck> = {}): Stuck => ({
  ...{ pod: web, state: 'hung', sinceMs: 0, forMs: 130_000, failures: 1, error: undefined },
  ...more,
});
const call = (method: string, ageMs: number, more: Partial<CriCall> = {}): CriCall => ({
  ...{ id: 1, method, operation: '', pod: undefined, containerId: undefined, sandboxId: undefined },
  ...{ startedAtMonotonicMs: 200_000 - ageMs, startedAtMs: 0, deadlineMs: 120_000, streaming: false },
  ...more,
});
const find = (health: Partial<PlegHealth>, calls: readonly CriCall[] = []) =>
  findCulprit({
    health: {
      ...{ healthy: false, message: '', reason: undefined, thresholdMs: 180_000, lastSeenAtMs: 1 },
      ...{ listInFlightMs: undefined, stuckPods: [], stuckPodCount: health.stuckPods?.length ?? 0 },
      ...health,
    },
    ...{ calls, nowMonotonicMs: 200_000 },
  });
const because = (kind: NonNullable<PlegHealth['reason']>['kind'], error?: string) => ({
  reason: { kind, sinceMs: undefined, error },
});

describe('who is to blame', () => {
  it('is the pod that has hung for longest, by the call that hangs now', () => {
    const hung = { ...because('inspectionsFailing'), stuckPods: [stuck()] };
    expect(find(hung)).toBe('ContainerStatus of default/web has hung for 2m10s');
    expect(find(hung, [call('PodSandboxStatus', 9_000, { pod: web })])).toBe(
      'PodSandboxStatus of default/web has hung for 2m10s',
    );
    expect(find({ ...hung, stuckPodCount: 2 })).toBe(
      'ContainerStatus of default/web has hung for 2m10s, and 1 more pod',
    );
  });

  it('is the pod whose status fails, with why', () => {
    expect(find({ stuckPods: [stuck({ state: 'failing', error: 'no such shim' })] })).toBe(
      'the status of default/web has failed for 2m10s: no such shim',
    );
  });

  it('is a list that hangs, whatever pods hang beside it', () => {
    const calls = [call('ListPodSandbox', 185_000), call('ContainerStatus', 190_000, { pod: web })];
    expect(find({ ...because('listHanging'), stuckPods: [stuck()] }, calls)).toBe(
      'ListPodSandbox has hung for 3m5s',
    );
  });

  it('is any call that is not answered in its time, but no pull or stop that takes as long as it takes', () => {
    const calls = [
      call('PullImage', 190_000, { deadlineMs: undefined }),
      call('StopContainer', 25_000, { ownMs: 30_000 }),
      call('Status', 9_000),
    ];
    expect(find({}, calls)).toBe('Status has hung for 9s');
  });

  it('is else what the runtime said last, or nobody', () => {
    expect(find(because('listFailing', 'connection refused'))).toBe('connection refused');
    expect(find({})).toBeUndefined();
  });
});
