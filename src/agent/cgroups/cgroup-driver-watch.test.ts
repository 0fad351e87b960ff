import { describe, expect, it } from 'vitest';
import { type ToldCgroupDriver } from '../../runtime/cgroup-driver.js';
import { type CgroupDriver } from '../../runtime/pod-cgroup-names.js';
import { FakeClock } from '../../testing/fake-clock.js';
import { LogRecorder } from '../../testing/log-recorder.js';
import { CgroupDriverWatch } from './cgroup-driver-watch.js';

const NEVER = new AbortController().signal;

function makeWatch(configured: CgroupDriver | '' = '') {
  const clock = new FakeClock();
  const logger = new LogRecorder();
  const bench = { clock, logger, told: 'not told' as ToldCgroupDriver | Error, asked: 0, isAway: false };
  const watch = new CgroupDriverWatch({
    ...{ configured, clock, logger },
    ask: () => {
      bench.asked++;
      return bench.told instanceof Error ? Promise.reject(bench.told) : Promise.resolve(bench.told);
    },
  });
  const askStatus = watch.after(() =>
    bench.isAway ? Promise.reject(new Error('no connection')) : Promise.resolve('ready'),
  );
  return Object.assign(bench, { watch, askStatus: () => askStatus(NEVER) });
}

describe('the cgroup driver', () => {
  it.each([
    ['cgroupfs', '', 'not told'],
    ['systemd', 'systemd', 'not told'],
    ['systemd', '', 'systemd'],
    ['cgroupfs', 'systemd', 'cgroupfs'],
  ] as const)('is %s where the options say "%s" and the runtime %s', async (driver, configured, told) => {
    const bench = makeWatch(configured);
    bench.told = told;
    expect(await bench.askStatus()).toBe('ready');
    expect(bench.watch.driver).toBe(driver);
    const warnings = bench.logger.lines.filter(({ level }) => level === 'warn');
    expect(warnings).toHaveLength(configured !== '' && driver !== configured ? 1 : 0);
  });

  it('is asked for again after the runtime was away, and now and then', async () => {
    const bench = makeWatch();
    await bench.askStatus();
    await bench.askStatus();
    expect(bench.asked).toBe(1);
    bench.isAway = true;
    await expect(bench.askStatus()).rejects.toThrow('no connection');
    bench.isAway = false;
    bench.told = 'systemd';
    await bench.askStatus();
    expect(bench.asked).toBe(2);
    expect(bench.watch.driver).toBe('systemd');
    await bench.clock.advance(59_000);
    await bench.askStatus();
    expect(bench.asked).toBe(2);
    await bench.clock.advance(1_000);
    await bench.askStatus();
    expect(bench.asked).toBe(3);
  });

  it('stays as it was while the runtime does not answer that question, which fails no status and is told once', async () => {
    const bench = makeWatch();
    bench.told = 'systemd';
    await bench.askStatus();
    bench.told = new Error('took too long');
    await bench.clock.advance(60_000);
    expect(await bench.askStatus()).toBe('ready');
    expect(await bench.askStatus()).toBe('ready');
    expect(bench.watch.driver).toBe('systemd');
    expect(bench.asked).toBe(3);
    const errors = bench.logger.lines.filter(({ level }) => level === 'error');
    expect(errors).toHaveLength(1);
  });
});
