import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type CriClient, CriRuntime } from '#watch';
import { type CriCall, criCallEnded } from '#base/channels/channels.js';
import { longest, probeLoop, recordTurns, splitAt } from './loop-probe.js';

it('sees every turn that the loop made meanwhile', async () => {
  let nowMs = 0;
  const turns = await recordTurns(
    async () => {
      nowMs += 1;
      await nextTurn();
      nowMs += 30;
      await nextTurn();
      nowMs += 2;
    },
    () => nowMs,
  );
  expect(longest(turns, [])).toBe(30);
  expect(turns[0]?.beganMs).toBe(0);
  expect(turns.at(-1)?.endedMs).toBe(33);
});

it('knows no work of podloop’s own where its client made no call', async () => {
  const use = await probeLoop(nextTurn);
  expect(use.longestTurnMs).toBeGreaterThan(0);
  expect(use.longestOwnMs).toBeNaN();
});

it('takes what comes after the last list for podloop’s own, whatever other calls are answered later', async () => {
  const tellEnd = (method: string): void => {
    const call = { method } as CriCall;
    criCallEnded.publish({ call, durationMs: 1, outcome: 'ok', unknownFields: 0, responseBytes: 0 });
  };
  const use = await probeLoop(async () => {
    tellEnd('ListPodSandbox');
    tellEnd('StreamContainers');
    const beganMs = performance.now();
    while (performance.now() - beganMs < 5);
    tellEnd('Status');
    await nextTurn();
  });
  expect(use.longestOwnMs).toBeGreaterThan(4);
});

it('may take what comes after the last answer for all that podloop reads: it waits for both', async () => {
  let answer = (_: Buffer): void => undefined;
  const containers = new Promise<Buffer>((resolve) => (answer = resolve));
  let malformed = 0;
  type Handlers = { readonly onMessage: (message: Buffer) => void };
  const client = {
    connectionGeneration: 1,
    streamBytes: async ({ name }: { readonly name: string }, _: unknown, { onMessage }: Handlers) =>
      onMessage(name === 'StreamPodSandboxes' ? Buffer.from([0x0a, 0xff]) : await containers),
    countMalformedMessage: () => malformed++,
    countUnknownFields: () => undefined,
  };
  const listing = new CriRuntime({ client: client as unknown as CriClient }).listPods();
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  expect(malformed).toBe(0);
  answer(Buffer.alloc(0));
  await expect(listing).rejects.toThrow('the answer to ListPodSandbox cannot be decoded');
  expect(malformed).toBe(1);
});

it('cuts the turn in which the last answer came', () => {
  const turns = [
    { beganMs: 0, endedMs: 4 },
    { beganMs: 4, endedMs: 10 },
    { beganMs: 10, endedMs: 11 },
  ];
  expect(splitAt(turns, 7)).toEqual([
    [
      { beganMs: 0, endedMs: 4 },
      { beganMs: 4, endedMs: 7 },
    ],
    [
      { beganMs: 7, endedMs: 10 },
      { beganMs: 10, endedMs: 11 },
    ],
  ]);
});

it('takes the pauses that lie in a stretch out of it', () => {
  const turns = [
    { beganMs: 0, endedMs: 10 },
    { beganMs: 10, endedMs: 16 },
  ];
  expect(longest(turns, [])).toBe(10);
  expect(longest(turns, [{ beganMs: 3, endedMs: 12 }])).toBe(4);
  expect(longest([], [])).toBe(0);
});
