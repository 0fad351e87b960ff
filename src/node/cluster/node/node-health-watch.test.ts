import { afterEach, beforeEach, expect, it } from 'vitest';
import { type PlegHealth } from '../../../watch/pleg/index.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type RelistEnd, relistEnded } from '#base/channels/pleg-channels.js';
import { NodeHealthWatch } from './node-health-watch.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

const RELIST: RelistEnd = {
  ...{ scope: 'all', trigger: 'initial', startedAtMs: 0, durationMs: 1, sinceLastMs: undefined },
  ...{ listMs: 1, diffMs: 0, pods: 0, due: 0, error: undefined },
};

let clock: FakeClock;
let stop: AbortController;
let running: Promise<void>;
let errors: string[];
let network: string[];
let pleg: PlegHealth;
let answer: () => void;
let told: boolean[];
let watch: NodeHealthWatch;

beforeEach(() => {
  clock = new FakeClock();
  stop = new AbortController();
  errors = ['container runtime status check may not have completed yet'];
  network = [];
  told = [];
  pleg = {
    ...{ healthy: false, message: 'pleg has yet to be successful', reason: undefined, thresholdMs: 180_000 },
    ...{ lastSeenAtMs: undefined, listInFlightMs: undefined, stuckPods: [], stuckPodCount: 0 },
  };
  watch = new NodeHealthWatch({
    channels,
    clock,
    pleg: { health: () => pleg },
    runtimeState: {
      errors: () => errors,
      networkErrors: () => network,
      onAnswer: (listener) => {
        answer = listener;
        return () => undefined;
      },
    },
    client: { callsInFlight: () => [] },
  });
  watch.onChange(() => told.push(watch.health().problems.length === 0));
  running = watch.run(stop.signal);
});

afterEach(async () => {
  stop.abort();
  await clock.settle();
  await running;
});

it('reports that a node is healthy with the answer that makes it so, and not with a tick', () => {
  told.length = 0;
  expect(watch.health()).toEqual({ isKnown: false, problems: errors });
  errors = [];
  answer();
  expect(told).toEqual([true]);
  pleg = { ...pleg, healthy: true, lastSeenAtMs: 1 };
  channels.publish(relistEnded, RELIST);
  expect(watch.health()).toEqual({ isKnown: true, problems: [] });
});

it('reports within five seconds that nothing comes any more, and once for as long as that lasts', async () => {
  errors = [];
  pleg = { ...pleg, lastSeenAtMs: 1 };
  answer();
  told.length = 0;
  network = ['container runtime network not ready'];
  await clock.advance(5_000);
  expect(told).toEqual([false]);
  errors = ['container runtime is down'];
  await clock.advance(5_000);
  expect(told).toEqual([false]);
  expect(watch.health().problems).toEqual([
    'container runtime is down',
    'container runtime network not ready',
  ]);
});

it('takes a runtime that has not answered for ten seconds for away', async () => {
  await clock.advance(11_000);
  expect(watch.health().isKnown).toBe(true);
});

it('is not well any more, in the words of a kubelet, from the moment that the agent begins to end', async () => {
  errors = [];
  pleg = { ...pleg, healthy: true, message: undefined, lastSeenAtMs: 1 };
  answer();
  expect(told.at(-1)).toBe(true);

  watch.announceEnd(true);

  expect(told.at(-1)).toBe(false);
  expect(watch.health()).toEqual({ isKnown: true, problems: ['node is shutting down'] });
});
