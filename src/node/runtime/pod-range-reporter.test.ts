import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { PodloopError } from '#base/errors/errors.js';
import { PodRangeReporter } from './pod-range-reporter.js';

let clock: FakeClock;
let logger: LogRecorder;
let stop: AbortController;
let running: Promise<void>;
let failure: Error | undefined;
let told: unknown[];
let teller: PodRangeReporter;

beforeEach(() => {
  clock = new FakeClock();
  logger = new LogRecorder();
  stop = new AbortController();
  failure = undefined;
  told = [];
  teller = new PodRangeReporter({
    ...{ clock, logger },
    client: {
      updateRuntimeConfig: (request) => {
        told.push(request?.runtimeConfig?.networkConfig?.podCidr);
        return failure === undefined ? Promise.resolve({}) : Promise.reject(failure);
      },
    },
  });
  running = teller.run(stop.signal);
});

afterEach(async () => {
  stop.abort();
  await clock.settle();
  await running;
});

const note = async (...ranges: string[]): Promise<void> => {
  teller.note(ranges);
  await clock.settle();
};

it('passes the ranges of its pods to the runtime once the Node has some, and again when they change', async () => {
  await note();
  await clock.advance(120_000);
  expect(told).toEqual([]);
  await note('10.1.2.0/24', 'fd00:1::/64');
  await note('10.1.2.0/24', 'fd00:1::/64');
  await note();
  await clock.advance(120_000);
  expect(told).toEqual(['10.1.2.0/24,fd00:1::/64']);
  await note('10.1.3.0/24');
  expect(told).toEqual(['10.1.2.0/24,fd00:1::/64', '10.1.3.0/24']);
  expect(logger.lines.map(({ message, fields }) => [message, fields['newPodCIDR']])).toEqual([
    ['Updating Pod CIDR', '10.1.2.0/24,fd00:1::/64'],
    ['Updating Pod CIDR', '10.1.3.0/24'],
  ]);
});

it('tries again until the runtime takes them, and complains once', async () => {
  failure = new PodloopError('CRI_UNAVAILABLE', 'no connection');
  await note('10.1.2.0/24');
  await clock.advance(10_000);
  await clock.advance(20_000);
  expect(told).toHaveLength(3);
  expect(logger.complaints).toHaveLength(1);
  failure = undefined;
  await clock.advance(40_000);
  await clock.advance(120_000);
  expect(told).toHaveLength(4);
  expect(logger.complaints).toHaveLength(1);
});

it('does not go on asking a runtime that has no use for them', async () => {
  failure = new PodloopError('CRI_UNIMPLEMENTED', 'unknown method UpdateRuntimeConfig');
  await note('10.1.2.0/24');
  await clock.advance(120_000);
  expect(told).toEqual(['10.1.2.0/24']);
  expect(logger.lines).toEqual([]);
});
