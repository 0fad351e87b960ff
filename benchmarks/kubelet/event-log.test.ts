import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { expect, it } from 'vitest';
import { EventLog, parseEventLine } from './event-log.js';

const line = (microseconds: string, type: string, id: string) =>
  `I0704 10:26:42.${microseconds}   31073 kubelet.go:2570] "SyncLoop (PLEG): event for pod" pod="default/web" event={"ID":"b3e6","Type":"${type}","Data":"${id}"}`;

it('reads when an event was told of', () => {
  const atMs = new Date(2026, 6, 4, 10, 26, 42).getTime();
  expect(parseEventLine(line('444214', 'ContainerDied', 'c0ffee'), 2026)).toEqual({
    ...{ atMs: atMs + 444.214, type: 'ContainerDied', containerId: 'c0ffee' },
  });
  expect(
    parseEventLine('I0704 10:26:42.444214 1 a.go:1] "SyncLoop ADD" source="file"', 2026),
  ).toBeUndefined();
});

it('keeps the first of each death and counts them', async () => {
  const log = new EventLog();
  const lines = [
    line('100000', 'ContainerDied', 'a'),
    line('200000', 'ContainerDied', 'a'),
    line('300000', 'ContainerStarted', 'b'),
  ];
  const stream = Readable.from(lines.map((each) => `${each}\n`));
  log.read(stream);
  await finished(stream);
  await expect.poll(() => log.findDeath('a')?.times).toBe(2);
  expect(log.findDeath('a')!.atMs % 1_000).toBeCloseTo(100);
  expect(log.findDeath('b')).toBeUndefined();
});
