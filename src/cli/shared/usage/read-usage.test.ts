import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type AgentClient } from '../api/agent-client.js';
import { ApiError } from '../api/api-status.js';
import { describeOldNumbers, UsageReader } from './read-usage.js';

/** CPU time in seconds at a second of the minute. */
type Sample = readonly [second: number, cpuSeconds: number];

function readerOf(samples: readonly Sample[], clock: FakeClock): UsageReader {
  const left = [...samples];
  const send = async (): Promise<object> => {
    const [second, cpuSeconds] = left.length > 1 ? left.shift()! : left[0]!;
    const time = `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`;
    const cpu = { time, usageCoreNanoSeconds: cpuSeconds * 1e9 };
    return Promise.resolve({ object: { pods: [{ podRef: { namespace: 'a', name: 'p' }, cpu }] } });
  };
  return new UsageReader({ send, signal: new AbortController().signal } as unknown as AgentClient, clock);
}

it('reads twice at first, and from then on the difference to the reading before', async () => {
  const clock = new FakeClock();
  const reader = readerOf(
    [
      [10, 1],
      [12, 2],
      [14, 5],
    ],
    clock,
  );
  const first = reader.read();
  await clock.advance(1_200);
  expect((await first).pods[0]?.nanoCores).toBe(0.5e9);
  expect((await reader.read()).pods[0]?.nanoCores).toBe(1.5e9);
  expect(clock.pendingTimers).toBe(0);
});

it.each<[string, Sample]>([
  ['nothing was measured since', [10, 1]],
  ['a container was restarted and counts from zero', [12, 0]],
])('knows no CPU when %s', async (_, second) => {
  const clock = new FakeClock();
  const reading = readerOf([[10, 1], second], clock).read();
  await clock.advance(1_200);
  expect((await reading).pods[0]?.nanoCores).toBeUndefined();
});

it('does with what it has when a busy agent does not answer again', async () => {
  const clock = new FakeClock();
  const cpu = { time: '2026-01-01T00:00:10Z', usageCoreNanoSeconds: 1 };
  const pods = [{ podRef: { namespace: 'a', name: 'p' }, cpu, memory: { workingSetBytes: 7 } }];
  let asked = 0;
  const late = new ApiError(504, { reason: 'Timeout', message: 'it could not be made within 30s' });
  const client = {
    send: async () => (asked++ === 0 ? Promise.resolve({ object: { pods } }) : Promise.reject(late)),
    open: async () => Promise.reject(late),
    signal: new AbortController().signal,
  } as unknown as AgentClient;
  const reading = new UsageReader(client, clock).read({ withDisks: true });
  await clock.advance(1_200);
  expect((await reading).pods).toMatchObject([{ name: 'p', memoryBytes: 7, atMs: Date.parse(cpu.time) }]);
});

it.each([
  [[], undefined],
  [[0, 25], undefined],
  [[0, 26], '1 pod are up to 26s old'],
  [[40.4, 70, undefined, 3], '2 pods are up to 70s old'],
])('says of numbers that are %j seconds old: %s', (ages, words) => {
  const nowMs = 1_700_000_000_000;
  const pods = ages.map((age) => ({ atMs: age === undefined ? undefined : nowMs - age * 1_000 }));
  const line = describeOldNumbers({ atMs: nowMs }, pods);
  if (words === undefined) expect(line).toBeUndefined();
  else expect(line).toBe(`The numbers of ${words}: the runtime has not measured since`);
  expect(describeOldNumbers({ atMs: undefined }, pods)).toBeUndefined();
});
