import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WriteLog } from './write-log.js';

type Step =
  | {
      readonly kind: 'write';
      readonly sector: number;
      readonly sectors: number;
      readonly byte: number;
      readonly flush: boolean;
    }
  | { readonly kind: 'discard'; readonly sector: number; readonly sectors: number }
  | { readonly kind: 'flush' };

const SECTOR = 512;
const DISK_SECTORS = 64;

/** A log as dm-log-writes and QEMU write it. */
function encodeLog(steps: readonly Step[], sectorBytes = SECTOR): Buffer {
  const head = Buffer.alloc(sectorBytes);
  head.writeBigUInt64LE(0x6a736677736872n, 0);
  head.writeBigUInt64LE(1n, 8);
  head.writeBigUInt64LE(BigInt(steps.length), 16);
  head.writeUInt32LE(sectorBytes, 24);
  const parts = [head];
  for (const step of steps) {
    const entry = Buffer.alloc(sectorBytes);
    const sectors = step.kind === 'flush' ? 0 : step.sectors;
    entry.writeBigUInt64LE(BigInt(step.kind === 'flush' ? 0 : step.sector), 0);
    entry.writeBigUInt64LE(BigInt(sectors), 8);
    const isFlush = step.kind === 'flush' || (step.kind === 'write' && step.flush);
    entry.writeBigUInt64LE((isFlush ? 1n : 0n) | (step.kind === 'discard' ? 4n : 0n), 16);
    parts.push(entry);
    if (step.kind === 'write') {
      const data = Buffer.alloc(Math.ceil((sectors * SECTOR) / sectorBytes) * sectorBytes);
      data.fill(step.byte, 0, sectors * SECTOR);
      parts.push(data);
    }
  }
  return Buffer.concat(parts);
}

/** What the disk holds after some steps. */
function applySteps(steps: readonly Step[]): Buffer {
  const disk = Buffer.alloc(DISK_SECTORS * SECTOR);
  for (const step of steps)
    if (step.kind !== 'flush')
      disk.fill(
        step.kind === 'write' ? step.byte : 0,
        step.sector * SECTOR,
        (step.sector + step.sectors) * SECTOR,
      );
  return disk;
}

const extent = fc
  .tuple(fc.nat(DISK_SECTORS - 1), fc.integer({ min: 1, max: 16 }))
  .map(([sector, sectors]) => ({ sector, sectors: Math.min(sectors, DISK_SECTORS - sector) }));
const step: fc.Arbitrary<Step> = fc.oneof(
  fc
    .record({ at: extent, byte: fc.integer({ min: 1, max: 255 }), flush: fc.boolean() })
    .map(({ at, byte, flush }) => ({ kind: 'write' as const, ...at, byte, flush })),
  extent.map((at) => ({ kind: 'discard' as const, ...at })),
  fc.constant({ kind: 'flush' as const }),
);

describe('WriteLog', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-write-log-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function openLog(bytes: Buffer): Promise<WriteLog> {
    const path = join(folder, 'log');
    await writeFile(path, bytes);
    return WriteLog.open(path);
  }

  it('gives the disk as it was after any entry, whether replayed at once or in parts', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 20 }),
        fc.nat(),
        fc.constantFrom(512, 4096),
        async (steps, at, bytes) => {
          await using log = await openLog(encodeLog(steps, bytes));
          expect(log.entries).toHaveLength(steps.length);
          const to = at % (steps.length + 1);
          const path = join(folder, 'disk');
          await writeFile(path, Buffer.alloc(DISK_SECTORS * SECTOR));
          await using image = await open(path, 'r+');
          await log.replay(image, 0, Math.floor(to / 2));
          await log.replay(image, Math.floor(to / 2), to);
          expect((await readFile(path)).equals(applySteps(steps.slice(0, to)))).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('names each flush: of its own, and with a write', async () => {
    const write = { kind: 'write', sector: 1, sectors: 1, byte: 7 } as const;
    await using log = await openLog(
      encodeLog([{ ...write, flush: false }, { kind: 'flush' }, { ...write, flush: true }]),
    );
    expect(log.flushes.map(({ index }) => index)).toEqual([1, 2]);
  });

  it.each([
    ['another file', Buffer.from('#!/bin/sh\n'.repeat(100)), 'is no log of writes'],
    ['an empty file', Buffer.alloc(0), 'is no log of writes'],
    [
      'a log that was cut off within an entry',
      encodeLog([{ kind: 'write', sector: 0, sectors: 4, byte: 1, flush: false }]).subarray(0, 1500),
      'ends within entry 0',
    ],
    [
      'a log with fewer entries than it says',
      encodeLog([{ kind: 'flush' }]).subarray(0, 512),
      'after 0 of 1 entries',
    ],
  ])('refuses %s', async (_what, bytes, message) => {
    await expect(openLog(bytes)).rejects.toThrow(message);
  });
});
