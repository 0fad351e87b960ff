import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { RecordingFile } from './recording-file.js';
import { RecordingParts, type RecordingPartsOptions } from './recording-parts.js';
import { STRICT_RULES } from './redaction/redaction-rules.js';
import { Timeline } from './replay/timeline.js';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-limits-'));
  path = join(folder, 'r.plrec');
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Seven calls, and before them one that never ends. */
async function record(options: Partial<RecordingPartsOptions>): Promise<RecordingParts> {
  const clock = new FakeClock();
  const parts = await RecordingParts.create({
    ...{ path, replace: false, maxBytes: 2 ** 20, whenFull: 'stop', clock },
    meta: { podloop: '0', mode: 'relay', upstream: 'unix:///x', rules: STRICT_RULES },
    ...options,
  });
  for (let call = 0; call <= 7; call++) {
    const now = clock.monotonicMs();
    await parts.begin({ call, method: '/runtime.v1.RuntimeService/Version', connection: 1 }, now, undefined);
    if (call > 0) {
      await parts.message(call, now, Buffer.of(call));
      await parts.end(call, now, { code: 0 });
    }
    await clock.advance(1_000);
  }
  await parts.close(
    { calls: 8, redacted: 0, unknownFields: 0, unreadable: 0 },
    'stopped',
    clock.monotonicMs(),
  );
  return parts;
}

/** The numbers of the calls in a file, and how it ended. */
async function read(name: string, most?: { calls: number; messages: number }): Promise<unknown> {
  await using file = await RecordingFile.open(name);
  const { calls, close, isShortened } = await Timeline.read(file, undefined, most);
  return [calls.map(({ number }) => number), isShortened ? 'shortened' : close?.reason];
}

describe('a recording', () => {
  it.each([
    ['calls', { calls: 5, messages: 100 }],
    ['messages', { calls: 100, messages: 3 }],
  ])('is full when it has as many %s as are read again', async (_what, most) => {
    await record({ most });
    expect(await read(path, most)).toEqual([[0, 1, 2, 3, 4], 'full']);
  });

  it('goes on in the next file when it rolls, with the calls that are open', async () => {
    const most = { calls: 4, messages: 100 };
    expect((await record({ most, whenFull: 'roll' })).parts).toBe(3);
    expect(await read(`${path}.1`, most)).toEqual([[0, 4, 5, 6], 'rolled']);
    expect(await read(path, most)).toEqual([[0, 7], 'stopped']);
  });

  it('that has more, since another podloop wrote it, is read as far as it may be', async () => {
    await record({});
    expect(await read(path, { calls: 2, messages: 100 })).toEqual([[0, 1, 2], 'shortened']);
    expect(await read(path)).toEqual([[0, 1, 2, 3, 4, 5, 6, 7], 'stopped']);
  });
});
