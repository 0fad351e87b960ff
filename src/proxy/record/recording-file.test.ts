import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { readRecording } from '#support/harness/record-harness.js';
import {
  encodeBlock,
  encodeFrame,
  encodeJsonFrame,
  encodePreamble,
  FrameKind,
  LARGEST_BLOCK,
  PREAMBLE_BYTES,
} from './recording-format.js';
import { RecordingFile } from './recording-file.js';
import { RecordingParts } from './recording-parts.js';
import { STRICT_RULES } from './redaction/redaction-rules.js';

let folder: string;
let path: string;
/** A recording of a few blocks. */
let whole: Buffer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-recording-'));
  path = join(folder, 'r.plrec');
  const clock = new FakeClock();
  const parts = await RecordingParts.create({
    ...{ path, replace: false, maxBytes: 2 ** 20, whenFull: 'stop', clock },
    meta: { podloop: '0', mode: 'relay', upstream: 'unix:///x', rules: STRICT_RULES },
  });
  for (let call = 1; call <= 3; call++) {
    await parts.begin(
      { call, method: '/runtime.v1.RuntimeService/Version', connection: 1 },
      clock.monotonicMs(),
      Buffer.of(call),
    );
    await parts.message(call, clock.monotonicMs(), Buffer.from(`answer ${call}`));
    await parts.end(call, clock.monotonicMs(), { code: 0 });
    await clock.advance(1_500);
  }
  await parts.close(
    { calls: 3, redacted: 0, unknownFields: 0, unreadable: 0 },
    'stopped',
    clock.monotonicMs(),
  );
  whole = await readFile(path);
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const META = encodeJsonFrame(FrameKind.META, {
  ...{ podloop: '0', startedAt: '2026-01-02T03:04:05.000Z', mode: 'relay', upstream: 'unix:///x', part: 0 },
  rules: STRICT_RULES,
});

async function readBytes(bytes: Buffer): Promise<Awaited<ReturnType<typeof readRecording>>> {
  await writeFile(path, bytes);
  return readRecording(path);
}

async function readFrames(...frames: Buffer[]): Promise<Awaited<ReturnType<typeof readRecording>>> {
  return readBytes(Buffer.concat([encodePreamble(), await encodeBlock(Buffer.concat([META, ...frames]))]));
}

describe('a recording file', () => {
  it('that is cut off anywhere gives what stands in its whole blocks, and says so', async () => {
    const all = await readBytes(whole);
    expect(all.at(-1)!.kind).toBe('close');
    for (let length = PREAMBLE_BYTES; length < whole.length; length += 7) {
      await writeFile(path, whole.subarray(0, length));
      await using file = await RecordingFile.open(path);
      const frames = [];
      for await (const block of file.readFrames()) frames.push(...block);
      expect(frames).toEqual(all.slice(0, frames.length));
      // A cut between two blocks leaves no trace but that the last frame is missing.
      expect(file.isCutOff || frames.at(-1)?.kind !== 'close').toBe(true);
    }
  });

  it('that ends in room that was never written to is as one that is cut off', async () => {
    expect(await readBytes(Buffer.concat([whole, Buffer.alloc(5_000)]))).toEqual(await readBytes(whole));
  });

  it('in which a byte is wrong is refused with its place, or read as it was written', async () => {
    const all = await readBytes(whole);
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const bytes = Buffer.from(whole);
        bytes[at] = bytes[at]! ^ change;
        try {
          const frames = await readBytes(bytes);
          expect(frames).toEqual(all.slice(0, frames.length));
        } catch (error) {
          expect(error).toMatchObject({ code: 'RECORDING_INVALID' });
          expect((error as Error).message).toMatch(
            /r\.plrec (cannot be read from byte \d+ on: |is no recording|has version)/,
          );
        }
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    [
      'another file',
      async () => Buffer.from('apiVersion: v1\nkind: Pod\n'),
      'is no recording of podloop record',
    ],
    ['an empty file', async () => Buffer.alloc(0), 'is no recording of podloop record'],
    [
      'a block that unpacks to more than it says',
      async () => {
        const block = await encodeBlock(Buffer.alloc(2 ** 20));
        block.writeUInt32BE(10, 8);
        return Buffer.concat([encodePreamble(), block]);
      },
      'from byte 16 on: a block cannot be unpacked to the length that it names',
    ],
    [
      'a block that says it is huge',
      async () => {
        const block = await encodeBlock(META);
        block.writeUInt32BE(LARGEST_BLOCK + 1, 8);
        return Buffer.concat([encodePreamble(), block]);
      },
      'at most',
    ],
    [
      'frames without a first one',
      async () =>
        Buffer.concat([encodePreamble(), await encodeBlock(encodeFrame(FrameKind.BLOB, Buffer.of(1)))]),
      'the first frame does not say what was recorded',
    ],
  ])('refuses %s', async (_what, make, complaint) => {
    await expect(readBytes(await make())).rejects.toMatchObject({
      code: 'RECORDING_INVALID',
      message: expect.stringContaining(complaint) as string,
    });
  });

  it.each([
    ['a reference to a message that is not there', { call: 1, at: 0, blob: 5 }, 'refers to a message 5'],
    ['a time that is none', { call: 1, at: 1e300 }, 'wrong "at"'],
    ['a call that is none', { call: -1, at: 0 }, 'wrong "call"'],
  ])('refuses %s', async (_what, frame, complaint) => {
    await expect(readFrames(encodeJsonFrame(FrameKind.MESSAGE, frame))).rejects.toThrow(complaint);
  });

  it('refuses a folder, and does not wait for a pipe', async () => {
    await expect(readRecording(folder)).rejects.toThrow('is no file');
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await expect(readRecording(pipe)).rejects.toThrow('is no file');
  });

  it('refuses frames that leave their block, and more of them than a writer would put there', async () => {
    await expect(readFrames(Buffer.from([FrameKind.BLOB, 100, 1]))).rejects.toThrow('longer than its block');
    await expect(
      readFrames(Buffer.from([FrameKind.BLOB, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])),
    ).rejects.toThrow('length does not end');
    await expect(readFrames(Buffer.alloc(500_000, Buffer.of(FrameKind.BLOB, 0)))).rejects.toThrow(
      'more than 200000',
    );
  });

  it('passes over kinds of frames that a newer podloop may write', async () => {
    const frames = await readFrames(encodeJsonFrame(99 as FrameKind, { new: true }));
    expect(frames.map(({ kind }) => kind)).toEqual(['meta']);
  });

  it('of a newer version of the format is refused by name', async () => {
    const bytes = Buffer.from(whole);
    bytes.writeUInt16BE(2, 8);
    bytes.writeUInt32BE(crc32(bytes.subarray(0, 12)), 12);
    await expect(readBytes(bytes)).rejects.toThrow('has version 2 of the format, and this podloop knows 1');
  });
});
