import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findOpenBelow } from '#support/find-open-below.js';
import { SystemClock } from '#base/time/clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { NanoClock } from '../nano-clock.js';
import { ContainerFiles } from './container-files.js';
import { type ContainerHost } from './container-host.js';
import { ContainerRun } from './container-run.js';
import { ExitRecords } from './exit-records.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'podloop-run-'));
});
afterEach(async () => rm(dir, { recursive: true }));

it('keeps no log open that was being opened as it was closed', async () => {
  const [files, logPath] = [new ContainerFiles(dir), join(dir, 'c.log')];
  // All of it that a log needs.
  const host = { logger: SILENT_LOGGER, time: new NanoClock(new SystemClock()) } as ContainerHost;
  const ignore = (): void => undefined;
  const run = new ContainerRun({
    ...{ id: 'c', files, logPath, host, streams: { output: true, input: 'none', tty: false } },
    exits: new ExitRecords({ id: 'c', files, host, oomKilled: () => false, endAll: async () => undefined }),
    ...{ sweepSoon: ignore, onOutput: ignore, onCarried: ignore, onStarted: ignore, onStopped: ignore },
  });
  const opening = run.openLog();
  await run.close();
  await opening;
  expect(await readFile(logPath, 'utf8')).toBe('');
  expect(await findOpenBelow(dir)).toEqual([]);
});
