import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LABELS } from '../../../watch/observed/labels.js';
import { PodPaths } from '../../../watch/observed/pod-paths.js';
import { emptyPodStatus, type ObservedState, type PodStatus } from '../../../watch/observed/runtime.js';
import {
  aContainer,
  aContainerStatus,
  aPod,
  aPodStatus,
  aSandbox,
  aSandboxStatus,
} from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { ContainerCollector } from './container-collector.js';
import { ownedBy } from '../../../watch/observed/ownership.js';

const MINE = { [LABELS.nodeInstance]: 'me' };
const never = new AbortController().signal;

let folder: string;
let paths: PodPaths;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-gc-'));
  paths = new PodPaths({ rootDir: join(folder, 'root'), podLogsDir: join(folder, 'logs') });
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** A pod `name` whose container main has these states by attempt, in one sandbox. */
function pod(
  name: string,
  states: readonly ObservedState[],
  labels: Record<string, string> = MINE,
): PodStatus {
  const observed = aPod({ name });
  const ref = { namespace: 'default', name, uid: observed.uid };
  const containers = states.map((state, attempt) => {
    const id = `${name}-${attempt}`;
    const logPath = paths.containerLogFile(ref, 'main', attempt);
    return aContainerStatus(aContainer({ id, attempt, state, sandboxId: `${name}-s` }), { labels, logPath });
  });
  const isRunning = states.includes('running');
  const sandbox = aSandbox({ id: `${name}-s`, state: isRunning ? 'running' : 'exited' });
  return aPodStatus(observed, { sandboxes: [aSandboxStatus(sandbox, { labels })], containers });
}

function lab(statuses: PodStatus[], gone: string[] = [], failing: string[] = [], hanging: string[] = []) {
  const calls: string[] = [];
  const act = (verb: string) => async (id: string) => {
    calls.push(`${verb} ${id}`);
    if (hanging.includes(`${verb} ${id}`)) await new Promise<never>(() => undefined);
    if (failing.includes(`${verb} ${id}`)) throw new Error('device or resource busy');
  };
  const clock = new FakeClock();
  const pods = new Map(statuses.map((status) => [status.uid, status]));
  const collector = new ContainerCollector({
    clock,
    paths,
    isOurs: ownedBy('me'),
    mayRemove: (uid) => gone.includes(uid),
    pods: {
      uids: () => pods.keys(),
      get: (uid) => ({ status: pods.get(uid) ?? emptyPodStatus(uid), error: undefined }),
    },
    changes: {
      stopContainer: act('stop'),
      removeContainer: act('remove'),
      stopPodSandbox: act('stopSandbox'),
      removePodSandbox: act('removeSandbox'),
    },
  });
  return { clock, collector, calls };
}

describe('a pass over dead containers', () => {
  it('keeps the newest of each pod, and nothing of pods that are gone', async () => {
    const { collector, calls } = lab(
      [pod('web', ['exited', 'exited', 'running']), pod('old', ['exited', 'exited'])],
      ['uid-old'],
    );
    expect(await collector.collect(never)).toEqual({ containers: 3, sandboxes: 1, failed: 0 });
    expect(calls.slice(0, 3).sort()).toEqual(['remove old-0', 'remove old-1', 'remove web-0']);
    // After its containers: a runtime would remove them with it, behind our back.
    expect(calls.slice(3)).toEqual(['stopSandbox old-s', 'removeSandbox old-s']);
  });

  it('takes the last ones of finished pods, too, when the node needs what they take', async () => {
    const statuses = [pod('done', ['exited']), pod('web', ['exited', 'exited']), pod('old', ['exited'])];
    const { collector, calls } = lab(statuses, ['uid-old']);
    const isFinished = (uid: string): boolean => uid === 'uid-done';
    expect(await collector.collectAll(isFinished, never)).toEqual({ containers: 2, sandboxes: 2, failed: 0 });
    expect(calls.filter((call) => call.startsWith('remove ')).toSorted()).toEqual([
      'remove done-0',
      'remove old-0',
    ]);
  });

  it('leaves what is not ours', async () => {
    const { collector, calls } = lab([pod('web', ['exited', 'exited'], {})], ['uid-web']);
    expect(await collector.collect(never)).toEqual({ containers: 0, sandboxes: 0, failed: 0 });
    expect(calls).toEqual([]);
  });

  it('stops what the runtime has lost sight of before it removes it', async () => {
    const { collector, calls } = lab([pod('web', ['unknown', 'running'])], ['uid-web']);
    await collector.collect(never);
    expect(calls).toEqual(['stop web-0', 'remove web-0']);
  });

  it('goes on where one thing cannot be removed, and keeps the sandbox of it', async () => {
    const { collector, calls } = lab([pod('web', ['exited', 'exited'])], ['uid-web'], ['remove web-0']);
    expect(await collector.collect(never)).toEqual({ containers: 1, sandboxes: 0, failed: 1 });
    // Several at once, in whatever order.
    expect(calls.toSorted()).toEqual(['remove web-0', 'remove web-1']);
  });

  it('tries again what failed, later and later', async () => {
    const { clock, collector, calls } = lab(
      [pod('web', ['exited', 'running'])],
      ['uid-web'],
      ['remove web-0'],
    );
    for (let second = 0; second < 64; second += 2) {
      await collector.cleanUp({ mayRemove: () => true }, never);
      await clock.advance(2_000);
    }
    // After 0, 2, 4, 8, 16 and 32 seconds.
    expect(calls).toHaveLength(6);
  });

  it('is made every minute', async () => {
    const { clock, collector, calls } = lab([pod('web', ['exited', 'running'])], ['uid-web']);
    const stop = new AbortController();
    const running = collector.run(stop.signal);
    await clock.advance(59_000);
    expect(calls).toEqual([]);
    await clock.advance(2_000);
    await expect.poll(() => calls).toEqual(['remove web-0']);
    stop.abort();
    await running;
  });

  it('ends with its signal', async () => {
    const stop = new AbortController();
    stop.abort(new Error('enough'));
    const { collector, calls } = lab([pod('web', ['exited'])], ['uid-web']);
    await expect(collector.collect(stop.signal)).rejects.toThrow('enough');
    expect(calls).toEqual([]);
  });
});

describe('the files of a container', () => {
  const ref = { namespace: 'default', name: 'web', uid: 'uid-web' };

  async function write(names: string[]): Promise<void> {
    await mkdir(paths.containerLogDir(ref, 'main'), { recursive: true });
    await mkdir(paths.containerDir('uid-web', 'main'), { recursive: true });
    for (const name of names) await writeFile(join(paths.containerLogDir(ref, 'main'), name), 'log');
    for (const count of [0, 1])
      await writeFile(paths.terminationMessageFile('uid-web', 'main', count), 'bye');
  }

  it('go with it, and no others', async () => {
    await write(['0.log', '0.log.20260101-000000.gz', '0.log.20260101-000000.tmp', '1.log', '10.log']);
    const { collector } = lab([pod('web', ['exited', 'exited', 'running'])]);
    await collector.collect(never);
    expect((await readdir(paths.containerLogDir(ref, 'main'))).sort()).toEqual(['1.log', '10.log']);
    expect(await readdir(paths.containerDir('uid-web', 'main'))).toEqual(['1']);
  });

  it('stay when another container has the same', async () => {
    await write(['0.log']);
    const status = pod('web', ['exited', 'exited', 'running']);
    const [first, second, third] = status.containers;
    const again = { ...third!, logPath: first!.logPath, restartCount: first!.restartCount };
    const { collector, calls } = lab([{ ...status, containers: [first!, second!, again] }]);
    await collector.collect(never);
    expect(calls).toEqual(['remove web-0']);
    expect(await readdir(paths.containerLogDir(ref, 'main'))).toEqual(['0.log']);
    expect(await readdir(paths.containerDir('uid-web', 'main'))).toEqual(['0', '1']);
  });

  it('are not looked for elsewhere than below the folder of logs', async () => {
    const outside = join(folder, 'outside.log');
    await writeFile(outside, 'not ours');
    const status = pod('web', ['exited', 'running']);
    for (const logPath of [outside, join(paths.podLogsDir, '..', 'outside.log'), paths.podLogsDir]) {
      const containers = [{ ...status.containers[0]!, logPath }];
      await lab([{ ...status, containers }], ['uid-web']).collector.collect(never);
    }
    expect(await readdir(folder)).toContain('outside.log');
  });
});

describe('between two passes', () => {
  it('the death of a container takes those that died before', async () => {
    const { collector, calls } = lab([pod('web', ['exited', 'exited', 'exited', 'running'])]);
    await collector.containerDied('uid-web', 'web-2', never);
    expect(calls.toSorted()).toEqual(['remove web-0', 'remove web-1']);
    await collector.containerDied('uid-web', 'unknown', never);
    await collector.containerDied('uid-other', 'web-2', never);
    expect(calls).toHaveLength(2);
  });

  it('housekeeping takes pods that are gone, and only these', async () => {
    const { collector, calls } = lab([pod('web', ['exited', 'exited']), pod('old', ['exited'])], ['uid-old']);
    await collector.cleanUp({ mayRemove: (uid) => uid === 'uid-old' }, never);
    expect(calls).toEqual(['remove old-0', 'stopSandbox old-s', 'removeSandbox old-s']);
  });

  it('housekeeping returns "more" only for owned pods that are gone', async () => {
    const view = { mayRemove: (uid: string) => uid !== 'uid-web' };
    const foreign = pod('foreign', ['exited'], {});
    const { collector } = lab([pod('web', ['exited']), foreign]);
    expect(await collector.cleanUp(view, never)).toBeUndefined();
    const { collector: other, calls } = lab([foreign, pod('old', ['exited'])]);
    expect(await other.cleanUp(view, never)).toBe('more');
    expect(calls).toEqual(['remove old-0', 'stopSandbox old-s', 'removeSandbox old-s']);
  });

  it('housekeeping waits ten seconds for what hangs, and no more the next time', async () => {
    const statuses = [pod('hung', ['exited']), pod('old', ['exited'])];
    const { clock, collector, calls } = lab(statuses, [], [], ['remove hung-0']);
    const view = { mayRemove: () => true };
    let result: unknown = 'under way';
    const cleaning = collector.cleanUp(view, never).then((more) => (result = more));
    await clock.advance(9_000);
    await expect.poll(() => calls.toSorted()).toEqual(['remove hung-0', 'remove old-0']);
    expect(result).toBe('under way');
    await clock.advance(1_000);
    expect(await cleaning).toBe('more');
    const stop = new AbortController();
    expect(await collector.cleanUp(view, stop.signal)).toBe('more');
    const count = (call: string): number => calls.filter((each) => each === call).length;
    expect([count('remove hung-0'), count('removeSandbox old-s')]).toEqual([1, 1]);
    stop.abort(new Error('enough'));
    await expect(collector.cleanUp(view, stop.signal)).rejects.toThrow('enough');
  });

  it('nothing is removed by two at once', async () => {
    const { collector, calls } = lab([pod('web', ['exited', 'exited', 'running'])]);
    await Promise.all([collector.collect(never), collector.containerDied('uid-web', 'web-1', never)]);
    expect(calls).toEqual(['remove web-0']);
  });
});
