import { beforeEach, describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { PodEvictor } from './pod-evictor.js';

type Update = Parameters<ConstructorParameters<typeof PodEvictor>[0]['workers']['updatePod']>[0];

let updates: Update[];
let events: string[];
let states: { isKnown: boolean; isTerminationRequested: boolean; isFinished: boolean };
let evictor: PodEvictor;

beforeEach(() => {
  [updates, events] = [[], []];
  states = { isKnown: true, isTerminationRequested: false, isFinished: false };
  evictor = new PodEvictor({
    workers: {
      isKnown: () => states.isKnown,
      isTerminationRequested: () => states.isTerminationRequested,
      isFinished: () => states.isFinished,
      updatePod: (update) => void updates.push(update),
    },
    events: { record: ({ name }, { reason, message }) => void events.push(`${name} ${reason} ${message}`) },
  });
});

const API_POD = aNodePod({ source: 'api' });

describe('an eviction', () => {
  it('for the sake of others ends a pod for good, with the condition that says so', () => {
    evictor.evict(API_POD, {
      ...{ signal: 'memory.available', message: 'low. ', disruption: 'low. ', gracePeriodSeconds: 20 },
    });
    expect(events).toEqual(['web Evicted low. ']);
    expect(updates).toEqual([
      {
        ...{ type: 'kill', pod: API_POD },
        kill: {
          ...{ gracePeriodSeconds: 20, evict: true },
          statusOverride: { phase: 'Failed', reason: 'Evicted', message: 'low. ', disruption: 'low. ' },
        },
      },
    ]);
  });

  it.each(['emptydirfs.limit', 'ephemeralpodfs.limit', 'ephemeralcontainerfs.limit'])(
    'for %s is no disruption, and leaves a second',
    (signal) => {
      evictor.evict(API_POD, { signal, message: 'too much' });
      const { kill } = updates[0] as Extract<Update, { type: 'kill' }>;
      expect(kill).toEqual({
        ...{ gracePeriodSeconds: 1, evict: true },
        statusOverride: { phase: 'Failed', reason: 'Evicted', message: 'too much' },
      });
    },
  );

  it.each([{ isKnown: false }, { isTerminationRequested: true }, { isFinished: true }])(
    'does nothing to a pod of %o',
    (state) => {
      Object.assign(states, state);
      evictor.evict(API_POD, { signal: 'memory.available', message: 'low' });
      expect([updates, events, evictor.isHeldToLimits(API_POD)]).toEqual([[], [], false]);
    },
  );
});

it('critical pods of a cluster are not held to their own limits, and static ones are', () => {
  const critical: NodePod = aNodePod({ source: 'api', spec: { priority: 2_000_000_000 } });
  const verdicts = [API_POD, critical, aNodePod()].map((pod) => evictor.isHeldToLimits(pod));
  expect(verdicts).toEqual([true, false, true]);
});
