import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { Container, ContainerState, ContainerStatus } from '#watch/messages';
import { addUp, countRepeated, type FollowContext, followDeaths } from './follow-deaths.js';

const POD = { 'io.kubernetes.pod.name': 'pod-bench' };
const container = (id: string, state: ContainerState): Container =>
  Container.fromPartial({ id, state, labels: POD, metadata: { name: 'main' } });
const target = { containerId: 'old', podName: 'pod-bench', pid: 1, startTime: '1' };
const { CONTAINER_RUNNING: RUNNING, CONTAINER_EXITED: EXITED } = ContainerState;
const OPTIONS = { waitMs: 5_000, pollMs: 0 };
const kill = (): Promise<void> => Promise.resolve();

/** A node whose lists are these, the last one from then on. */
function contextOf(
  lists: readonly Container[][],
  { told = true, collected = false }: { readonly told?: boolean; readonly collected?: boolean } = {},
): FollowContext & { readonly startedMs: number } {
  const startedMs = Date.now();
  let looks = 0;
  return {
    startedMs,
    node: {
      containers: () => Promise.resolve(lists[Math.min(looks++, lists.length - 1)]!),
      statusOf: (id) => {
        if (id === 'old' && collected)
          return Promise.reject(Object.assign(new Error('gone'), { code: status.NOT_FOUND }));
        const times = {
          finishedAt: BigInt(startedMs - 40) * 1_000_000n,
          startedAt: BigInt(startedMs) * 1_000_000n,
        };
        return Promise.resolve(ContainerStatus.fromPartial({ id, ...times }));
      },
    },
    agent: {
      logStepMs: 1,
      check: () => undefined,
      events: { findDeath: () => (told ? { atMs: startedMs + 100, times: 1 } : undefined) },
    },
    signal: new AbortController().signal,
  };
}

it('measures from the last look that did not show an end, and adds what a log rounds off', async () => {
  const context = contextOf([
    [container('old', RUNNING)],
    [container('old', EXITED)],
    [container('old', EXITED), container('new', RUNNING)],
  ]);
  const found = await followDeaths(context, [target], OPTIONS, kill);
  expect(found).toMatchObject({ killed: 1, missed: 0, notReplaced: 0, unknownEnds: 0 });
  expect(found.toEventMs).toEqual([141]);
  expect(found.toReplacementMs).toEqual([40]);
  // The look that did not show it was at the beginning or later.
  expect(found.recordToEventMs[0]).toBeLessThanOrEqual(101);
  expect(found.toShownMs[0]).toBeGreaterThanOrEqual(40);
});

it('counts an end whose time was collected, and keeps the others', async () => {
  const other = { ...target, containerId: 'other' };
  const context = contextOf([[container('other', EXITED), container('new', RUNNING)]], { collected: true });
  const found = await followDeaths(context, [target, other], OPTIONS, kill);
  expect(found).toMatchObject({ killed: 2, missed: 0, unknownEnds: 1 });
  expect([found.toEventMs, found.recordToEventMs].map((each) => each.length)).toEqual([1, 2]);
});

it('counts what is neither told of nor replaced', async () => {
  const context = contextOf([[container('old', EXITED)]], { told: false });
  const found = await followDeaths(context, [target], { waitMs: 0, pollMs: 0 }, kill);
  expect(found).toMatchObject({ killed: 1, missed: 1, notReplaced: 1, toEventMs: [], toReplacementMs: [] });
});

it('counts ends that were told of again long after they were followed', async () => {
  const context = contextOf([[container('old', EXITED), container('new', RUNNING)]]);
  const found = await followDeaths(context, [target], OPTIONS, kill);
  const other = { ...found, containerIds: ['other'] };
  const findDeath = (id: string) => ({ atMs: 0, times: id === 'old' ? 2 : 1 });
  const counted = countRepeated(addUp([found, other]), { findDeath });
  expect(counted).toMatchObject({ killed: 2, repeated: 1 });
  expect(counted).not.toHaveProperty('containerIds');
});
