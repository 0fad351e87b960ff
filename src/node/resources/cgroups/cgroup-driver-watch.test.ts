import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ReportedCgroupDriver } from '../../runtime/cgroup-driver.js';
import { type CgroupDriver } from '../../runtime/config/pod-cgroup-names.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { EMBEDDED_RUNTIME_NAME } from '#base/channels/embedded-runtime-name.js';
import { CgroupDriverRecord } from './cgroup-driver-record.js';
import { CgroupDriverWatch } from './cgroup-driver-watch.js';

const NEVER = new AbortController().signal;
const REFUSED = new Error(
  'rpc error: code = Unknown desc = runc create failed: expected cgroupsPath to be of format "slice:prefix:name" for systemd cgroups, got "/a" instead',
);
const REFUSED_SLICE = new Error(
  'cri-o configured with cgroupfs cgroup manager, but received systemd slice as parent: /a.slice',
);
const RuntimeConfig = (driver: CgroupDriver): ReportedCgroupDriver => ({ driver, source: 'RuntimeConfig' });

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-driver-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));
const file = (): string => join(folder, 'cgroup-driver.json');

async function makeWatch(configured: CgroupDriver | '' = '', runtimeName = 'containerd') {
  const clock = new FakeClock();
  const logger = new LogRecorder();
  const bench = {
    ...{ clock, logger, asked: 0, isAway: false },
    answer: undefined as ReportedCgroupDriver | undefined | Error,
  };
  const watch = new CgroupDriverWatch({
    ...{ configured, runtimeName, clock, logger },
    record: await CgroupDriverRecord.open({ file: file(), logger }),
    ask: () => {
      bench.asked++;
      return bench.answer instanceof Error ? Promise.reject(bench.answer) : Promise.resolve(bench.answer);
    },
  });
  const askStatus = watch.after(() =>
    bench.isAway ? Promise.reject(new Error('no connection')) : Promise.resolve('ready'),
  );
  const said = (level: string): string[] =>
    logger.lines.filter((line) => line.level === level).map(({ message }) => message);
  return Object.assign(bench, { watch, said, askStatus: () => askStatus(NEVER) });
}

describe('the cgroup driver', () => {
  it.each([
    ['cgroupfs', 'default', '', undefined],
    ['systemd', 'options', 'systemd', undefined],
    ['cgroupfs', 'options', 'cgroupfs', undefined],
    ['systemd', 'options', 'systemd', RuntimeConfig('systemd')],
    ['systemd', 'RuntimeConfig', '', RuntimeConfig('systemd')],
    ['cgroupfs', 'RuntimeConfig', '', RuntimeConfig('cgroupfs')],
    ['systemd', 'Status', '', { driver: 'systemd', source: 'Status' }],
  ] as const)('is %s by %s where the options say "%s" and the runtime %j', async (...row) => {
    const [driver, source, configured, answer] = row;
    const bench = await makeWatch(configured);
    bench.answer = answer;
    expect(await bench.askStatus()).toBe('ready');
    expect(bench.watch).toMatchObject({ driver, source, conflict: undefined });
    await bench.clock.advance(60_000);
    await bench.askStatus();
    const lines = bench.logger.lines.filter(({ message }) => message === 'Cgroup driver');
    expect(lines.map(({ fields }) => fields)).toEqual([{ cgroupDriver: driver, source }]);
    expect([...bench.said('warn'), ...bench.said('error')]).toEqual([]);
  });

  it('is asked for again after the runtime was away, and now and then', async () => {
    const bench = await makeWatch();
    await bench.askStatus();
    await bench.askStatus();
    expect(bench.asked).toBe(1);
    bench.isAway = true;
    await expect(bench.askStatus()).rejects.toThrow('no connection');
    bench.isAway = false;
    bench.answer = RuntimeConfig('systemd');
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

  it('stays as it was while the runtime does not answer that question, which fails no status and is logged once', async () => {
    const bench = await makeWatch();
    bench.answer = RuntimeConfig('systemd');
    await bench.askStatus();
    bench.answer = new Error('took too long');
    await bench.clock.advance(60_000);
    expect(await bench.askStatus()).toBe('ready');
    expect(await bench.askStatus()).toBe('ready');
    expect(bench.watch.driver).toBe('systemd');
    expect(bench.asked).toBe(3);
    expect(bench.said('error')).toHaveLength(1);
  });
});

describe('a runtime that does not report its driver', () => {
  it('shows it in the error of the first sandbox: then the other driver holds, which is logged once', async () => {
    const bench = await makeWatch();
    await bench.askStatus();
    expect(await bench.watch.learn(new Error('no network'))).toBe(false);
    expect(await bench.watch.learn(REFUSED)).toBe(true);
    // Of another pod that was under way.
    expect(await bench.watch.learn(REFUSED)).toBe(false);
    expect(bench.watch).toMatchObject({ driver: 'systemd', source: 'sandbox error' });
    expect(bench.said('warn')).toHaveLength(1);
    await bench.clock.advance(60_000);
    await bench.askStatus();
    expect(bench.watch.driver).toBe('systemd');
  });

  it('may have another configuration later, and shows that in the same way', async () => {
    const bench = await makeWatch('', 'cri-o');
    await bench.watch.learn(REFUSED);
    expect(await bench.watch.learn(REFUSED_SLICE)).toBe(true);
    expect(bench.watch.driver).toBe('cgroupfs');
  });

  it('has for a later agent the driver that an earlier one found', async () => {
    const first = await makeWatch();
    await first.watch.learn(REFUSED);
    const later = await makeWatch();
    await later.askStatus();
    expect(later.watch).toMatchObject({ driver: 'systemd', source: 'earlier run' });
    // What was found of one runtime says nothing of another.
    expect((await makeWatch('', 'cri-o')).watch.driver).toBe('cgroupfs');
    // What the runtime reports, or somebody says, counts for more.
    const reporting = await makeWatch();
    reporting.answer = RuntimeConfig('cgroupfs');
    await reporting.askStatus();
    expect(reporting.watch.driver).toBe('cgroupfs');
    expect((await makeWatch()).watch.driver).toBe('cgroupfs');
    expect((await makeWatch('systemd')).watch.driver).toBe('systemd');
  });

  it('is as unknown as ever where what an earlier agent has left makes no sense', async () => {
    for (const text of [
      '',
      '{',
      '[]',
      '{"runtime":"containerd","driver":"openrc"}',
      '{"driver":"systemd"}',
    ]) {
      await writeFile(file(), text);
      expect((await makeWatch()).watch).toMatchObject({ driver: 'cgroupfs', source: 'default' });
    }
  });

  it('is on record with what it reports, too: it may not answer the next agent', async () => {
    const bench = await makeWatch();
    bench.answer = RuntimeConfig('systemd');
    await bench.askStatus();
    expect(JSON.parse(await readFile(file(), 'utf8'))).toEqual({
      version: 1,
      runtime: 'containerd',
      driver: 'systemd',
    });
    const later = await makeWatch();
    later.answer = new Error('took too long');
    await later.askStatus();
    expect(later.watch.driver).toBe('systemd');
  });

  it('holds for this run where it cannot be persisted, which is logged', async () => {
    const bench = await makeWatch();
    await rm(folder, { recursive: true });
    expect(await bench.watch.learn(REFUSED)).toBe(true);
    expect(bench.watch.driver).toBe('systemd');
    expect(bench.said('error')).toEqual(['The cgroup driver is not persisted']);
  });
});

describe('options that contradict the runtime', () => {
  it.each([
    ['systemd', 'cgroupfs', 'containerd', /containerd has cgroupfs.*SystemdCgroup = true/],
    ['cgroupfs', 'systemd', 'containerd', /containerd has systemd.*SystemdCgroup = false/],
    ['cgroupfs', 'systemd', 'cri-o', /cri-o has systemd.*cgroup_manager = "cgroupfs"/],
    ['systemd', 'cgroupfs', 'docker', /docker has cgroupfs.*configure the runtime for systemd/],
  ] as const)('are an error in words: %s against %s of %s', async (configured, driver, name, words) => {
    const bench = await makeWatch(configured, name);
    bench.watch.throwIfInConflict();
    bench.answer = { driver, source: 'Status' };
    await bench.askStatus();
    expect(bench.watch.driver).toBe(configured);
    expect(bench.watch.conflict).toMatch(words);
    expect(bench.watch.conflict).toMatch(/--cgroup-driver.*KubeletConfiguration.*Leave the option out/);
    expect(() => bench.watch.throwIfInConflict()).toThrow(
      expect.objectContaining({ code: 'CGROUP_DRIVER_CONFLICT' }) as Error,
    );
    await bench.clock.advance(60_000);
    await bench.askStatus();
    expect(bench.said('error')).toHaveLength(1);
    // The runtime was configured and restarted.
    bench.answer = { driver: configured, source: 'Status' };
    await bench.clock.advance(60_000);
    await bench.askStatus();
    bench.watch.throwIfInConflict();
  });

  it('are one as well where only the error of a sandbox shows the runtime’s driver: nothing is switched', async () => {
    const bench = await makeWatch('cgroupfs');
    expect(await bench.watch.learn(REFUSED)).toBe(false);
    expect(bench.watch.driver).toBe('cgroupfs');
    expect(bench.watch.conflict).toMatch(/containerd has systemd, as the error says/);
    expect(bench.said('error')).toHaveLength(1);
  });

  it('are none with the embedded runtime, which is configured with the agent: a kubelet’s file may say anything', async () => {
    const bench = await makeWatch('systemd', EMBEDDED_RUNTIME_NAME);
    bench.answer = RuntimeConfig('cgroupfs');
    await bench.askStatus();
    bench.watch.throwIfInConflict();
    expect(bench.watch.driver).toBe('cgroupfs');
    expect(bench.said('warn')).toHaveLength(1);
  });
});
