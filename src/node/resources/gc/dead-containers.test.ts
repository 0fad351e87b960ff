import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LABELS } from '../../../watch/observed/labels.js';
import { type ContainerStatus, type PodStatus } from '../../../watch/observed/runtime.js';
import {
  aContainer,
  aContainerStatus,
  aPod,
  aPodStatus,
  aSandbox,
  aSandboxStatus,
  BUILT_AT_NS,
} from '#testing/builders.js';
import {
  type ContainerPolicy,
  findDead,
  KEEP_NEWEST_DEAD,
  planRemovals,
  planRemovalsOnDeath,
  planSandboxRemovals,
} from './dead-containers.js';
import { ownedBy } from '../../../watch/observed/ownership.js';

const MINE = { [LABELS.nodeInstance]: 'me' };
const isOurs = ownedBy('me');
const NOW_MS = Number(BUILT_AT_NS / 1_000_000n) + 1_000_000;

/** `main3x`: attempt 3 of main, exited (x), running (r), created (c) or unknown (u), made at its attempt in seconds. */
function pod(containers: string, labels: Record<string, string> = MINE, name = 'web'): PodStatus {
  const states = { x: 'exited', r: 'running', c: 'created', u: 'unknown' } as const;
  const statuses = containers.split(' ').map((text): ContainerStatus => {
    const [, container, attempt, letter] = /^([a-z]+?)(\d+)([xrcu])$/.exec(text)!;
    const observed = aContainer({
      id: text.slice(0, -1),
      name: container!,
      attempt: Number(attempt),
      state: states[letter as keyof typeof states],
      createdAtNs: BUILT_AT_NS + BigInt(attempt!) * 1_000_000_000n,
    });
    return aContainerStatus(observed, { labels });
  });
  return aPodStatus(aPod({ name }), { containers: statuses });
}

function plan(pods: PodStatus[], policy: Partial<ContainerPolicy> = {}, gone: string[] = []): string {
  const dead = pods.map((status) => findDead(status, gone.includes(status.uid), isOurs));
  const removals = planRemovals(dead, { ...KEEP_NEWEST_DEAD, ...policy }, NOW_MS);
  return removals.map(({ container }) => container.id).join(' ');
}

describe('dead containers', () => {
  it.each([
    ['beyond the newest of their name go', 'main0x main1x main2x', 'main0 main1'],
    ['are counted beside the one that runs', 'main0x main1x main2r', 'main0'],
    ['of several names are kept one of each', 'a0x b0x a1x b1x', 'a0 b0'],
    ['in an unknown state are dead', 'main0u main1u', 'main0'],
    ['that were made and not started are spared while they are the newest', 'main0x main1c', ''],
    ['that were never started go once they are not the newest', 'main0c main1x main2r', 'main0'],
  ])('%s', (_, containers, gone) => {
    expect(plan([pod(containers)])).toBe(gone);
  });

  it('go all when the pod is gone, but for one that runs', () => {
    expect(plan([pod('main0x main1x main2r init0c')], {}, ['uid-web'])).toBe('main0 init0 main1');
  });

  it('of others are never touched, gone or not', () => {
    const foreign = [pod('a0x a1x', {}), pod('b0x b1x', { [LABELS.nodeInstance]: 'another' }, 'other')];
    expect(plan(foreign, { maxContainers: 0 }, ['uid-web', 'uid-other'])).toBe('');
  });

  it('go by attempt and not by time, which a clock may have upset', () => {
    const status = pod('main0x main1x main2x');
    const upset = status.containers.map((container) => ({
      ...container,
      createdAtNs: BUILT_AT_NS - BigInt(container.attempt),
    }));
    expect(plan([{ ...status, containers: upset }])).toBe('main1 main0');
  });

  it('stay for their minimum age', () => {
    expect(plan([pod('main0x main1x main2x')], { minAgeMs: 999_500 })).toBe('');
    expect(plan([pod('main0x main1x main2x')], { minAgeMs: 998_500, maxPerPodContainer: 0 })).toBe(
      'main0 main1',
    );
  });

  it('without a minimum age go although the clock was set back', () => {
    const dead = [findDead(pod('main0x main1x'), false, isOurs)];
    expect(planRemovals(dead, KEEP_NEWEST_DEAD, 0)).toHaveLength(1);
  });

  it('are shared out when there are too many in all, and then the oldest go', () => {
    const pods = [pod('a0x a1x a2x'), pod('b5x b6x b7x', MINE, 'other')];
    const unbounded = { maxPerPodContainer: -1 };
    expect(plan(pods, { ...unbounded, maxContainers: 6 })).toBe('');
    expect(plan(pods, { ...unbounded, maxContainers: 4 })).toBe('a0 b5');
    expect(plan(pods, { ...unbounded, maxContainers: 3 })).toBe('a0 a1 b5 b6');
    expect(plan(pods, { ...unbounded, maxContainers: 2 })).toBe('a0 a1 b5 b6');
  });

  it('are never all removed of a name that has no other, as only they show that it has run', () => {
    const pods = [pod('a0x a1x'), pod('b5x b6r', MINE, 'other')];
    expect(plan(pods, { maxContainers: 0 })).toBe('a0 b5');
    expect(plan(pods, { maxPerPodContainer: 0 })).toBe('a0 b5');
    expect(plan(pods, { maxPerPodContainer: 0 }, ['uid-web'])).toBe('a0 a1 b5');
  });

  it('are never the running ones, and never more than is asked for, whatever there is', () => {
    const letters = fc.constantFrom('x', 'r', 'c', 'u');
    const containers = fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b'), fc.nat(9), letters), {
      selector: ([name, attempt]) => `${name}${attempt}`,
      minLength: 1,
    });
    const policies = fc.record({
      minAgeMs: fc.constantFrom(0, 995_000),
      maxPerPodContainer: fc.integer({ min: -1, max: 3 }),
      maxContainers: fc.integer({ min: -1, max: 8 }),
    });
    fc.assert(
      fc.property(
        fc.array(containers, { maxLength: 4 }),
        policies,
        fc.boolean(),
        (given, policy, areGone) => {
          const pods = given.map((each, index) =>
            pod(each.map((part) => part.join('')).join(' '), MINE, `p${index}`),
          );
          const dead = pods.map((status) => findDead(status, areGone, isOurs));
          const removals = planRemovals(dead, policy, NOW_MS);
          expect(removals.every(({ container }) => container.state !== 'running')).toBe(true);
          expect(new Set(removals).size).toBe(removals.length);
          if (areGone || policy.minAgeMs > 0) return;
          const left = dead.flatMap((each) => each.dead).filter((each) => !removals.includes(each));
          if (policy.maxContainers >= 0) {
            expect(left.filter(({ isLast }) => !isLast).length).toBeLessThanOrEqual(policy.maxContainers);
          }
          for (const { pod: owner, container } of left) {
            const older = removals.filter(
              (each) => each.pod.uid === owner.uid && each.container.name === container.name,
            );
            expect(older.every((each) => each.container.attempt < container.attempt)).toBe(true);
          }
        },
      ),
    );
  });
});

describe('when a container died', () => {
  it('those of its name go that died before the newest', () => {
    const dead = findDead(pod('a0x a1x a2x b0x b1x'), false, isOurs);
    expect(
      planRemovalsOnDeath(dead, 'a', KEEP_NEWEST_DEAD, NOW_MS).map(({ container }) => container.id),
    ).toEqual(['a0', 'a1']);
  });

  it.each([
    ['as many of its name stay as are kept of each', { maxPerPodContainer: 2 }, ['a0']],
    [
      'one stays where none is kept: it shows that the container has run',
      { maxPerPodContainer: 0 },
      ['a0', 'a1'],
    ],
    ['none goes where there is no bound', { maxPerPodContainer: -1 }, []],
    ['none goes before its time', { minAgeMs: 1_000_000_000 }, []],
  ])('%s', (_, policy, gone) => {
    const dead = findDead(pod('a0x a1x a2x'), false, isOurs);
    const removals = planRemovalsOnDeath(dead, 'a', { ...KEEP_NEWEST_DEAD, ...policy }, NOW_MS);
    expect(removals.map(({ container }) => container.id)).toEqual(gone);
  });

  it('all of its name go when the pod is gone', () => {
    const dead = findDead(pod('a0x a1x b0x'), true, isOurs);
    expect(
      planRemovalsOnDeath(dead, 'a', KEEP_NEWEST_DEAD, NOW_MS).map(({ container }) => container.id),
    ).toEqual(['a0', 'a1']);
  });
});

describe('sandboxes', () => {
  const sandbox = (attempt: number, state: 'running' | 'exited', labels: Record<string, string> = MINE) =>
    aSandboxStatus(aSandbox({ id: `s${attempt}`, attempt, state }), { labels });
  const containerIn = (sandboxId: string) =>
    aContainerStatus(aContainer({ id: `in-${sandboxId}`, sandboxId }));

  it.each([
    ['that are not ready and empty go, but for the newest', false, [], ['s0', 's1']],
    ['all go when the pod is gone', true, [], ['s0', 's1', 's2']],
    ['stay while they have containers', true, ['s1'], ['s0', 's2']],
  ])('%s', (_, isGone, withContainers, gone) => {
    const status = aPodStatus(aPod(), {
      sandboxes: [sandbox(2, 'exited'), sandbox(1, 'exited'), sandbox(0, 'exited')],
      containers: withContainers.map(containerIn),
    });
    expect(planSandboxRemovals(status, isGone, isOurs, new Set())).toEqual(gone);
    expect(planSandboxRemovals(status, isGone, isOurs, new Set(['in-s1']))).toEqual(
      isGone ? ['s0', 's1', 's2'] : gone,
    );
  });

  it('that are ready stay, and those of others', () => {
    const status = aPodStatus(aPod(), {
      sandboxes: [sandbox(2, 'running'), sandbox(1, 'exited', {}), sandbox(0, 'running')],
      containers: [],
    });
    expect(planSandboxRemovals(status, true, isOurs, new Set())).toEqual([]);
  });
});
