import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextRound } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findOpenBelow } from '#support/find-open-below.js';
import { SystemClock } from '#base/time/clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { NanoClock } from '../../nano-clock.js';
import { ContainerFiles } from '../container-files.js';
import { ContainerLog } from './container-log.js';
import { SpoolReader } from './spool-reader.js';

/** What a container writes that never stops: each look at it finds a whole buffer more. */
class EndlessSpool extends SpoolReader {
  #end = 1_000_000;

  override async read(buffer: Buffer, position: number): Promise<number> {
    await nextRound();
    const line = Buffer.from(`${'x'.repeat(999)}\n`);
    for (let at = 0; at < buffer.length; at++) buffer[at] = line[(position + at) % line.length]!;
    this.#end = position + 2 * buffer.length;
    return buffer.length;
  }

  override findEnd(): Promise<number> {
    return Promise.resolve(this.#end);
  }
}

class EndlessFiles extends ContainerFiles {
  override openSpool(stream: 'stdout' | 'stderr'): SpoolReader {
    return stream === 'stdout' ? new EndlessSpool({ dir: this.dir, stream }) : super.openSpool(stream);
  }
}

describe('the log of a container that never stops writing', () => {
  let dir = '';
  let logPath = '';
  let log: ContainerLog;

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'podloop-log-'));
    logPath = join(dir, 'c.log');
    const time = new NanoClock(new SystemClock());
    log = new ContainerLog({ files: new EndlessFiles(dir), logPath, time, logger: SILENT_LOGGER });
    await log.open();
    log.poke();
  });

  afterEach(async () => {
    await log.close();
    await rm(dir, { recursive: true });
  });

  it('can be reopened, and goes on in the new file without a gap', async () => {
    while ((await readFile(logPath)).length === 0) await nextRound();
    await rename(logPath, `${logPath}.1`);
    await log.reopen();
    while ((await readFile(logPath)).length === 0) await nextRound();
    await log.close();
    const lines = [...(await readFile(`${logPath}.1`, 'latin1')).split('\n').slice(0, -1)];
    lines.push(...(await readFile(logPath, 'latin1')).split('\n').slice(0, -1));
    expect(lines.length).toBeGreaterThan(1_000);
    expect(new Set(lines.map((line) => line.slice(line.indexOf(' '))))).toEqual(
      new Set([` stdout F ${'x'.repeat(999)}`]),
    );
  });

  it('gives what there is to whoever hears of the end, although something still writes', async () => {
    expect(await log.drain(false)).toBe(false);
    expect((await readFile(logPath)).length).toBeGreaterThan(1_000_000);
  });
});

it('keeps nothing open of a log whose position cannot be written down', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'podloop-log-'));
  try {
    const files = new ContainerFiles(dir);
    await mkdir(`${files.positionPath}.tmp`);
    const time = new NanoClock(new SystemClock());
    const log = new ContainerLog({ files, logPath: join(dir, 'c.log'), time, logger: SILENT_LOGGER });
    await expect(log.open()).rejects.toThrow();
    expect(await findOpenBelow(dir)).toEqual([]);
  } finally {
    await rm(dir, { recursive: true });
  }
});

it('goes on after a loss of power that has left an empty file of how far it was', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'podloop-log-'));
  const files = new ContainerFiles(dir);
  const logPath = join(dir, 'c.log');
  await writeFile(files.positionPath, '');
  await writeFile(join(dir, 'stdout.spool.0'), 'last words\n');
  const log = new ContainerLog({
    ...{ files, logPath, logger: SILENT_LOGGER },
    time: new NanoClock(new SystemClock()),
  });
  await log.open();
  expect(await log.drain(true)).toBe(true);
  expect(await readFile(logPath, 'utf8')).toMatch(/ stdout F last words\n$/);
  await rm(dir, { recursive: true });
});
