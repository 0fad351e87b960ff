import * as fs from 'node:fs/promises';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { AtomicWriter, DEFINITION_DIGITS } from './atomic-writer.js';
import { type ContentFileSystem } from './content-file-system.js';
import { type ContentPayload } from './content-payload.js';
import { VerifiedVolumes } from './verified-volumes.js';

let top: string;
let folder: string;
let clock: FakeClock;
let verified: VerifiedVolumes;
let calls = 0;

beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), 'podloop-verified-'));
  folder = join(top, 'volume');
  await mkdir(folder);
  clock = new FakeClock();
  verified = new VerifiedVolumes({ clock });
});
afterEach(() => rm(top, { recursive: true, force: true }));

const files = new Proxy(fs, {
  get: (target, name) => {
    calls++;
    return Reflect.get(target, name) as unknown;
  },
}) as ContentFileSystem;

function payload(size: number, first = 'v0'): ContentPayload {
  const names = Array.from({ length: size }, (_, index) => `key-${index}`);
  return new Map(
    names.map((name, index) => [name, { data: Buffer.from(index === 0 ? first : `v${index}`), mode: 0o644 }]),
  );
}

/** Writes the volume, as each sync does; resolves with whether anything was changed, and what it took. */
async function write(what: ContentPayload, group?: number): Promise<{ changed: boolean; calls: number }> {
  calls = 0;
  const definition = '1'.repeat(DEFINITION_DIGITS);
  const changed = await new AtomicWriter({ folder, definition, group, clock, verified, files }).write(what);
  return { changed, calls };
}

/** So that the next look finds all as it should be, and remembers it. */
async function settle(what: ContentPayload): Promise<void> {
  await write(what);
  await write(what);
}

describe('a large volume', () => {
  it('is not read again while nothing has changed', async () => {
    await settle(payload(500));
    expect(await write(payload(500))).toEqual({ changed: false, calls: 3 });
  });

  it('is written when one of its files is to say something else, and is remembered again later', async () => {
    await settle(payload(500));
    expect((await write(payload(500, 'other'))).changed).toBe(true);
    expect(await readFile(join(folder, 'key-0'), 'utf8')).toBe('other');
    // The generation before is to be removed yet.
    await write(payload(500, 'other'));
    clock.jumpWallClock(6_000);
    await write(payload(500, 'other'));
    expect((await readdir(folder)).filter((name) => /^\.\.\d/.test(name))).toHaveLength(1);
    expect((await write(payload(500, 'other'))).calls).toBe(3);
  });

  it.each([
    ['a name was taken away', () => rm(join(folder, 'key-3'))],
    ['a file was removed', () => rm(join(folder, '..data', 'key-3'))],
    ['a file was put there', () => writeFile(join(folder, '..data', 'key-new'), '')],
  ])('is put right at once when %s', async (_what, tamper) => {
    await settle(payload(200));
    await tamper();
    await write(payload(200));
    expect(await readFile(join(folder, 'key-3'), 'utf8')).toBe('v3');
    expect(await readdir(join(folder, '..data'))).toHaveLength(200);
  });

  it.each([
    ['a file was removed', () => rm(join(folder, '..data/deep/er/key-3'))],
    ['a file was put there', () => writeFile(join(folder, '..data/deep/er/key-new'), '')],
    ['a folder was put there', () => mkdir(join(folder, '..data/deep/other'))],
  ])('is put right at once when %s in a folder of it', async (_what, tamper) => {
    const deep: ContentPayload = new Map([...payload(200)].map(([name, file]) => [`deep/er/${name}`, file]));
    await settle(deep);
    expect(await write(deep)).toEqual({ changed: false, calls: 5 });
    await tamper();
    await write(deep);
    expect(await readdir(join(folder, '..data/deep'))).toEqual(['er']);
    expect(await readdir(join(folder, '..data/deep/er'))).toHaveLength(200);
  });

  it('is read whole every ten minutes, also when the clock goes back', async () => {
    for (const jumpMs of [10 * 60_000, -1]) {
      await settle(payload(200));
      await writeFile(join(folder, '..data', 'key-3'), 'xx');
      expect((await write(payload(200))).changed).toBe(false);
      clock.jumpWallClock(jumpMs);
      expect((await write(payload(200))).changed).toBe(true);
      expect(await readFile(join(folder, 'key-3'), 'utf8')).toBe('v3');
      clock.jumpWallClock(6_000);
    }
  });
});

describe('a small volume', () => {
  it('is not read again by the syncs that follow its first one', async () => {
    expect(await write(payload(20))).toMatchObject({ changed: true });
    expect(await write(payload(20))).toEqual({ changed: false, calls: 3 });
    await rm(join(folder, 'key-3'));
    await write(payload(20));
    expect(await readFile(join(folder, 'key-3'), 'utf8')).toBe('v3');
  });

  it('is read whole by the sync of the next minute', async () => {
    await settle(payload(20));
    await writeFile(join(folder, '..data', 'key-3'), 'xx');
    clock.jumpWallClock(50_000);
    expect((await write(payload(20))).changed).toBe(true);
    expect(await readFile(join(folder, '..data', 'key-3'), 'utf8')).toBe('v3');
  });
});

it('no more than a thousand volumes are remembered', () => {
  for (let at = 0; at <= 1_000; at++) verified.keep(`/v${at}`, { digest: 'digest', look: 'look', files: 1 });
  expect(verified.stands('/v0', 'digest', 'look')).toBe(false);
  expect(verified.stands('/v1', 'digest', 'look')).toBe(true);
});
