import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type AgentClient } from '../api/agent-client.js';
import { UsageReader } from './read-usage.js';

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
