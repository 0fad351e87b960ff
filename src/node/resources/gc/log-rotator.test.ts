import {
  appendFile,
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LABELS } from '../../../watch/observed/labels.js';
import { type ContainerStatus } from '../../../watch/observed/runtime.js';
import { aContainer, aContainerStatus, aPod, aPodStatus } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { removeContainerLog } from './container-logs.js';
import { LogRotator, type LogRotatorOptions } from './log-rotator.js';
import { ownedBy } from '../../../watch/observed/ownership.js';
import { type WatchFile } from './unchanged-logs.js';

const MINE = { [LABELS.nodeInstance]: 'me' };
const never = new AbortController().signal;
const DAY_MS = 86_400_000;

let folder: string;
let log: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-logs-'));
  log = join(folder, 'logs', 'default_web_uid-web', 'main', '0.log');
  await mkdir(dirname(log), { recursive: true });
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

type RotatorParts = Pick<LogRotatorOptions, 'clock' | 'changes' | 'maxFiles' | 'watch'>;

/** Of logs of ten bytes of the containers of one pod. */
function rotatorOf(containers: readonly ContainerStatus[], parts: RotatorParts): LogRotator {
  const status = aPodStatus(aPod(), { containers });
  return new LogRotator({
    ...parts,
    isOurs: ownedBy('me'),
    pods: { uids: () => ['uid-web'], getLastKnown: () => status },
    podLogsDir: join(folder, 'logs'),
    maxSizeBytes: 10,
  });
}

/** A rotator of logs of ten bytes, and a runtime that opens a new file on request. */
function lab(fields: Partial<ContainerStatus> = {}, maxFiles = 5, watch?: WatchFile) {
  const clock = new FakeClock();
  const reopened: string[] = [];
  const runtime = { isDown: false };
  const container = aContainerStatus(aContainer({ id: 'a' }), { labels: MINE, logPath: log, ...fields });
  const reopenContainerLog = async (id: string): Promise<void> => {
    reopened.push(id);
    if (runtime.isDown) throw new Error('connection refused');
    await writeFile(log, '', { flag: 'a' });
  };
  const more = { maxFiles, ...(watch && { watch }) };
  const rotator = rotatorOf([container], { clock, changes: { reopenContainerLog }, ...more });
  return { clock, rotator, reopened, runtime };
}

const names = async (): Promise<string[]> => (await readdir(dirname(log))).sort();
const contentOf = (name: string): Promise<string> => readFile(join(dirname(log), name), 'utf8');

describe('the log of a running container', () => {
  it('is left alone until it is full, and then moved away', async () => {
    const { rotator, reopened } = lab();
    await writeFile(log, '123456789');
    await rotator.rotate(never);
    expect([await names(), reopened]).toEqual([['0.log'], []]);
    await writeFile(log, '1234567890');
    await rotator.rotate(never);
    expect([await names(), reopened]).toEqual([['0.log', '0.log.20260102-030405'], ['a']]);
    expect(await contentOf('0.log.20260102-030405')).toBe('1234567890');
  });

  it('is compressed the next time, and there are never more files than may be', async () => {
    const { clock, rotator } = lab();
    for (let day = 2; day <= 8; day++) {
      await writeFile(log, `this was day ${day}`);
      await chmod(log, 0o640);
      await rotator.rotate(never);
      await clock.advance(DAY_MS);
    }
    expect(await names()).toEqual([
      '0.log',
      '0.log.20260105-030405.gz',
      '0.log.20260106-030405.gz',
      '0.log.20260107-030405.gz',
      '0.log.20260108-030405',
    ]);
    const packed = join(dirname(log), '0.log.20260106-030405.gz');
    expect(gunzipSync(await readFile(packed)).toString()).toBe('this was day 6');
    expect((await stat(packed)).mode & 0o777).toBe(0o640);
  });

  it('is compressed without following links that somebody put beside it', async () => {
    const { rotator } = lab();
    const secret = join(folder, 'secret');
    await writeFile(secret, 'secret');
    const read = `${log}.20260101-000000`;
    await symlink(secret, read);
    const written = `${log}.20260101-010000`;
    await writeFile(written, 'yesterday');
    await symlink(secret, `${written}.tmp`);
    await writeFile(log, '1234567890');
    await rotator.rotate(never);
    expect(await names()).toEqual([
      '0.log',
      '0.log.20260101-000000',
      '0.log.20260101-010000.gz',
      '0.log.20260102-030405',
    ]);
    expect(await readFile(secret, 'utf8')).toBe('secret');
    expect(gunzipSync(await readFile(`${written}.gz`)).toString()).toBe('yesterday');
  });

  it('is left alone behind a link that somebody put in the place of its folder', async () => {
    const { rotator, reopened } = lab();
    const other = join(folder, 'other');
    await mkdir(other);
    for (const name of ['0.log', '0.log.tmp', '0.log.20260101-000000'])
      await writeFile(join(other, name), '1234567890');
    await rm(dirname(log), { recursive: true });
    await symlink(other, dirname(log));
    await rotator.rotate(never);
    await removeContainerLog(log, join(folder, 'logs'));
    expect([await names(), reopened]).toEqual([['0.log', '0.log.20260101-000000', '0.log.tmp'], []]);
  });

  it('comes back when the runtime cannot open a new one', async () => {
    const { rotator, runtime } = lab();
    runtime.isDown = true;
    await writeFile(log, '1234567890');
    await rotator.rotate(never);
    expect(await names()).toEqual(['0.log']);
    runtime.isDown = false;
    await rotator.rotate(never);
    expect(await contentOf('0.log.20260102-030405')).toBe('1234567890');
  });

  it('is reopened after an agent died between the two', async () => {
    const { rotator, reopened } = lab();
    await writeFile(log, '1234567890');
    await rename(log, `${log}.20260102-030000`);
    await rotator.rotate(never);
    expect([await names(), reopened]).toEqual([['0.log', '0.log.20260102-030000'], ['a']]);
  });

  it('loses nothing when an agent died while it compressed', async () => {
    const { rotator } = lab();
    await writeFile(`${log}.20260101-000000`, 'whole');
    await writeFile(`${log}.20260101-000000.tmp`, 'ha');
    await writeFile(log, '1234567890');
    await rotator.rotate(never);
    expect(await names()).toEqual(['0.log', '0.log.20260101-000000.gz', '0.log.20260102-030405']);
    expect(gunzipSync(await readFile(`${log}.20260101-000000.gz`)).toString()).toBe('whole');
  });

  it('never takes the name of another, although the clock was set back', async () => {
    const { clock, rotator } = lab();
    for (const content of ['first day.', 'second day', 'third day.']) {
      await writeFile(log, content);
      await rotator.rotate(never);
      clock.jumpWallClock(-3_600_000);
    }
    expect(await names()).toEqual([
      '0.log',
      '0.log.20260102-030405.gz',
      '0.log.20260102-030406.gz',
      '0.log.20260102-030407',
    ]);
    expect(await contentOf('0.log.20260102-030407')).toBe('third day.');
  });
});

describe('logs', () => {
  it.each([
    ['of containers that ended', { state: 'exited' as const }],
    ['of others', { labels: {} }],
    ['without a path', { logPath: '' }],
  ])('%s are not rotated', async (_, fields) => {
    const { rotator, reopened } = lab(fields);
    await writeFile(log, '1234567890');
    await rotator.rotate(never);
    expect([await names(), reopened]).toEqual([['0.log'], []]);
  });

  it('elsewhere are not rotated, nor what is no file', async () => {
    const outside = join(folder, 'outside.log');
    await writeFile(outside, '1234567890');
    await lab({ logPath: outside }).rotator.rotate(never);
    await symlink(outside, log);
    await lab().rotator.rotate(never);
    expect([await names(), (await readdir(folder)).sort()]).toEqual([['0.log'], ['logs', 'outside.log']]);
  });

  it('are looked at no more while nobody writes to them, and as any other once somebody has', async () => {
    const news: (() => void)[] = [];
    const watch = (_: string, onNews: () => void) => {
      news.push(onNews);
      return { close: () => undefined };
    };
    const { rotator, reopened } = lab({}, 5, watch);
    await writeFile(log, '123456789');
    for (let pass = 1; pass <= 5; pass++) await rotator.rotate(never);
    await appendFile(log, '0');
    await rotator.rotate(never);
    expect([await names(), reopened, news.length]).toEqual([['0.log'], [], 1]);
    news[0]!();
    await rotator.rotate(never);
    expect([await names(), reopened]).toEqual([['0.log', '0.log.20260102-030405'], ['a']]);
  });

  it('are looked at in the usual time when they grow after a quiet one', async () => {
    const { clock, rotator, reopened } = lab();
    await writeFile(log, '123456789');
    for (let pass = 1; pass <= 5; pass++) await rotator.rotate(never);
    const stop = new AbortController();
    const running = rotator.run(stop.signal);
    await appendFile(log, '0');
    await expect
      .poll(async () => {
        await clock.advance(10_000);
        return reopened;
      })
      .toEqual(['a']);
    stop.abort();
    await running;
  });

  it('are looked at every ten seconds', async () => {
    const { clock, rotator, reopened } = lab();
    const stop = new AbortController();
    const running = rotator.run(stop.signal);
    await clock.advance(9_900);
    expect(reopened).toEqual([]);
    await clock.advance(200);
    await expect.poll(() => reopened).toEqual(['a']);
    stop.abort();
    await running;
  });
});

/**
 * Full logs of some containers. As long as the runtime hangs it answers for none called `hung…` before a test lets it.
 */
async function manyHarness(ids: readonly string[]) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const runtime = { hangs: true };
  const logOf = (id: string): string => join(folder, 'logs', 'default_web_uid-web', id, '0.log');
  for (const id of ids) {
    await mkdir(dirname(logOf(id)), { recursive: true });
    await writeFile(logOf(id), '1234567890');
  }
  const containers = ids.map((id) =>
    aContainerStatus(aContainer({ id }), { labels: MINE, logPath: logOf(id) }),
  );
  const reopenContainerLog = async (id: string): Promise<void> => {
    asked.push(id);
    const hangs = runtime.hangs && id.startsWith('hung');
    if (hangs) await new Promise<void>((resolve) => answers.push(resolve));
    await writeFile(logOf(id), '', { flag: 'a' });
  };
  const rotator = rotatorOf(containers, { clock, changes: { reopenContainerLog } });
  const filesOf = async (id: string): Promise<string[]> => (await readdir(dirname(logOf(id)))).sort();
  return { clock, rotator, asked, answers, runtime, logOf, filesOf };
}

describe('a container whose log the runtime does not reopen', () => {
  it('does not hold up the logs of others, and is not asked about again before it has answered', async () => {
    const { clock, rotator, asked, answers, runtime, logOf, filesOf } = await manyHarness(['hung', 'fine']);
    const first = rotator.rotate(never);
    await expect.poll(() => asked).toEqual(['hung']);
    await clock.advance(1_000);
    await first;
    expect(asked).toEqual(['hung', 'fine']);
    expect(await filesOf('fine')).toEqual(['0.log', '0.log.20260102-030406']);
    await writeFile(logOf('fine'), '1234567890');
    await rotator.rotate(never);
    expect(asked).toEqual(['hung', 'fine', 'fine']);
    expect(await filesOf('hung')).toEqual(['0.log.20260102-030405']);
    runtime.hangs = false;
    answers[0]!();
    await expect.poll(() => filesOf('hung')).toEqual(['0.log', '0.log.20260102-030405']);
    await writeFile(logOf('hung'), '1234567890');
    const passAgain = async (): Promise<string[]> => {
      await rotator.rotate(never);
      return asked;
    };
    await expect.poll(passAgain).toEqual(['hung', 'fine', 'fine', 'hung']);
  });

  it('is one of no more than sixteen for which others do not wait', async () => {
    const hung = Array.from({ length: 17 }, (_, index) => `hung-${index}`);
    const { clock, rotator, asked, answers, filesOf } = await manyHarness(hung);
    const pass = rotator.rotate(never);
    for (let count = 1; count <= 16; count++) {
      await expect.poll(() => asked).toHaveLength(count);
      await clock.advance(1_000);
    }
    await clock.advance(60_000);
    expect(asked).toHaveLength(16);
    answers[0]!();
    await expect.poll(() => asked).toHaveLength(17);
    for (const answer of answers) answer();
    await pass;
    const haveNew = async (): Promise<boolean[]> =>
      Promise.all(hung.map(async (id) => (await filesOf(id)).includes('0.log')));
    await expect.poll(haveNew).not.toContain(false);
  });

  it('is waited for at the end', async () => {
    const { clock, rotator, asked, answers, filesOf } = await manyHarness(['hung']);
    const stop = new AbortController();
    let isOver = false;
    const running = rotator.run(stop.signal).then(() => void (isOver = true));
    await clock.advance(10_000);
    await expect.poll(() => asked).toEqual(['hung']);
    stop.abort();
    await clock.advance(2_000);
    expect(isOver).toBe(false);
    answers[0]!();
    await running;
    expect(await filesOf('hung')).toEqual(['0.log', '0.log.20260102-030415']);
  });
});
