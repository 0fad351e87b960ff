import { afterEach, expect, it } from 'vitest';
import { criCallEnded } from '#base/channels/channels.js';
import { OperationTimes, REMEMBERED_CALLS } from './operation-times.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

let times: OperationTimes | undefined;
afterEach(() => times?.[Symbol.dispose]());

function ended(
  operation: string,
  durationMs: number,
  outcome = 'ok',
  streaming = false,
  deadlineMs?: number,
): void {
  channels.publish(criCallEnded, {
    call: {
      ...{
        id: 1,
        method: operation,
        operation,
        pod: undefined,
        containerId: undefined,
        sandboxId: undefined,
      },
      ...{ startedAtMonotonicMs: 0, startedAtMs: 0, deadlineMs, streaming },
    },
    ...{ durationMs, outcome, unknownFields: 0, responseBytes: 0 },
  });
}

it('reports for each operation the median, the 99th percentile and the maximum of its last calls', () => {
  times = new OperationTimes(channels);
  for (let ms = 1; ms <= 100; ms++) ended('version', ms);
  ended('list_containers', 7);
  expect(times.list()).toEqual([
    { operation: 'list_containers', count: 1, failed: 0, p50Ms: 7, p99Ms: 7, maxMs: 7 },
    { operation: 'version', count: 100, failed: 0, p50Ms: 50, p99Ms: 99, maxMs: 100 },
  ]);
});

it('forgets the times of old calls, but still counts them', () => {
  times = new OperationTimes(channels);
  ended('version', 9_000);
  for (let call = 0; call < REMEMBERED_CALLS; call++) ended('version', 1);
  expect(times.list()).toMatchObject([{ count: REMEMBERED_CALLS + 1, maxMs: 1 }]);
});

it('counts failures and stores the last one’s code; cancelled calls are counted separately, and streams are not counted', () => {
  times = new OperationTimes(channels);
  ended('container_status', 1, 'CRI_NOT_FOUND');
  ended('container_status', 2, 'CRI_DEADLINE_EXCEEDED');
  ended('container_status', 3_000, 'aborted');
  ended('version', 3_000, 'aborted');
  ended('get_container_events', 4, 'ok', true);
  expect(times.list()).toMatchObject([
    {
      ...{ operation: 'container_status', count: 2, failed: 2, givenUp: 1, p99Ms: 2, maxMs: 2 },
      lastFailure: 'CRI_DEADLINE_EXCEEDED',
    },
    { operation: 'version', count: 0, failed: 0, givenUp: 1, p50Ms: 0, maxMs: 0 },
  ]);
});

it('includes lists that come in pieces, but not the attempt to find out whether they do', () => {
  times = new OperationTimes(channels);
  ended('stream_containers', 6, 'ok', true, 120_000);
  ended('stream_podsandboxes', 1, 'CRI_UNIMPLEMENTED', true, 120_000);
  expect(times.list()).toMatchObject([{ operation: 'stream_containers', count: 1, failed: 0, maxMs: 6 }]);
});

it('receives nothing any more once it is disposed of', () => {
  times = new OperationTimes(channels);
  times[Symbol.dispose]();
  ended('version', 1);
  expect(times.list()).toEqual([]);
});
