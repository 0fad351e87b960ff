import { describe, expect, it } from 'vitest';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { buildAgentPods } from './agent-pods-port.js';

const UID = 'uid-web';

/** What the agent knows of one pod. */
interface Knowledge {
  /** As its worker has it; absent when there is none. */
  readonly worker?: { readonly mayRun: boolean; readonly isFinished: boolean };
  readonly isRejected?: boolean;
  readonly isSeenRunning?: boolean;
  /** The runtime does not answer when it is asked about the pod. */
  readonly isSick?: boolean;
  /** Housekeeping has seen all pods: nothing is known of a pod without a worker. */
  readonly isHousekept?: boolean;
}

function portOf({ worker, isRejected, isSeenRunning, isSick, isHousekept = true }: Knowledge) {
  const state = isSeenRunning === true ? 'running' : 'exited';
  return buildAgentPods({
    workers: {
      isKnown: () => worker !== undefined,
      isFinished: () => worker?.isFinished === true,
      couldHaveRunningContainers: () => worker?.mayRun ?? !isHousekept,
    },
    desired: { findRejection: () => (isRejected === true ? { reason: 'No', message: 'no' } : undefined) },
    cache: { get: () => ({ error: isSick === true ? new Error('no answer') : undefined }) },
    pleg: { findObserved: () => ({ sandboxes: [], containers: [{ state }] }) },
  } as unknown as Parameters<typeof buildAgentPods>[0]);
}

describe('what an agent says of a pod', () => {
  it.each<[string, Knowledge, { mayRun: boolean; isFinished: boolean }]>([
    ['that runs', { worker: { mayRun: true, isFinished: false } }, { mayRun: true, isFinished: false }],
    [
      'that has ended and whose volumes are still there',
      { worker: { mayRun: false, isFinished: false } },
      { mayRun: false, isFinished: false },
    ],
    [
      'of which nothing is left',
      { worker: { mayRun: false, isFinished: true } },
      { mayRun: false, isFinished: true },
    ],
    ['that nobody has seen yet', { isHousekept: false }, { mayRun: true, isFinished: false }],
    ['that was never begun', {}, { mayRun: false, isFinished: true }],
    [
      'that nobody wants and that an agent before this one has started',
      { isSeenRunning: true },
      { mayRun: true, isFinished: false },
    ],
    [
      'that an agent before this one has started and whose status cannot be had',
      { isSick: true },
      { mayRun: true, isFinished: false },
    ],
    ['that was rejected', { isRejected: true, isHousekept: false }, { mayRun: false, isFinished: false }],
    [
      'that was rejected and that an agent before this one has started',
      { isRejected: true, isSeenRunning: true },
      { mayRun: true, isFinished: false },
    ],
  ])('is true of one %s', (_, knowledge, { mayRun, isFinished }) => {
    const port = portOf(knowledge);
    expect({ mayRun: port.mayHaveRunning(UID), isFinished: port.isFinished(UID) }).toEqual({
      mayRun,
      isFinished,
    });
  });
});

it('lets a pod that waits for room know that its API server says that it has ended', () => {
  const [kept, judged]: [string[], string[]] = [[], []];
  const port = buildAgentPods({
    workers: { isKnown: () => false },
    endedPods: { find: () => undefined, keep: async (uid: string) => kept.push(uid) },
    handlers: { podEndChanged: (uid: string) => judged.push(uid) },
  } as unknown as Parameters<typeof buildAgentPods>[0]);
  const status = { phase: 'Failed', conditions: [], containerStatuses: [], qosClass: 'BestEffort' } as const;
  port.markEnded(aNodePod(), status);
  expect([kept, judged]).toEqual([[UID], [UID]]);
});
