/**
 * The doctor in front of a replay of pods that came, ran, ended and went: the runtime was well, so that nothing may be found.
 *
 * @module
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Observer } from '../../src/node/observer.js';
import { RecordProxy, ReplayServer, summarizeRecording } from '../../src/proxy/record/index.js';
import { SystemClock } from '#base/time/clock.js';
import { CONTAINER_EXITED, EmbeddedNode, until } from './embedded-node.js';
import { runPodloop } from './podloop-process.js';

const clock = new SystemClock();
const STAYS = 'trap "exit 0" TERM; while :; do sleep 0.2; done';
const ROUNDS = 4;

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-doctor-recording-'));
  file = join(folder, 'churn.plrec');
  await mkdir(join(folder, 'machine'));
  await record();
}, 120_000);
afterAll(async () => rm(folder, { recursive: true }));

/** Some seconds of a node, as `podloop record` without --listen records them. */
async function record(): Promise<void> {
  await using node = await EmbeddedNode.start({ network: 'none' });
  const listen = `unix://${join(folder, 'record.sock')}`;
  await using proxy = await RecordProxy.start({
    upstream: node.listen,
    listen,
    file,
    mode: 'observe',
    clock,
  });
  const ending = new AbortController();
  await using observer = await Observer.connect({ runtimeEndpoint: listen, mode: 'generic' }, { clock });
  const looking = observer.run(ending.signal);
  const lists = (): number => proxy.counts.calls;
  for (let round = 0; round < ROUNDS; round++) {
    const [web, job] = [await node.runPod(`web-${round}`), await node.runPod(`job-${round}`)];
    await node.run(web, 'main', STAYS);
    const ended = await node.run(job, 'main', `exit ${round % 2}`);
    await until(
      () => node.status(ended),
      ({ state }) => state === CONTAINER_EXITED,
    );
    // What the observer has not seen is not in the recording.
    const before = lists();
    await until(lists, (calls) => calls > before + 4);
    if (round % 2 === 1) {
      await node.client.stopPodSandbox({ podSandboxId: job });
      await node.client.removePodSandbox({ podSandboxId: job });
    }
  }
  ending.abort();
  await looking;
}

it('is a recording of a churn that lacks nothing', async () => {
  const { isComplete, pods, hangs, errors, mode } = await summarizeRecording(file);
  expect({ isComplete, hangs, errors, mode }).toEqual({
    ...{ isComplete: true, hangs: [], errors: [], mode: 'observe' },
  });
  expect(pods.length).toBeGreaterThanOrEqual(2 * ROUNDS);
});

describe('the doctor finds nothing in it', () => {
  it.each([
    ['from its beginning', 0],
    ['from its middle', 0.5],
    ['at its end', 0.95],
  ])('%s', { timeout: 120_000 }, async (_, share) => {
    const { durationMs } = await summarizeRecording(file);
    const listen = `unix://${join(folder, `replay-${share}.sock`)}`;
    await using replay = await ReplayServer.start({ file, listen, clock, fromMs: durationMs * share });
    const nobody = ['--socket', join(folder, 'nobody.sock'), '--kubelet-url', '', '--healthz-url', ''];
    const machine = ['--host-root', join(folder, 'machine'), '--no-disk-write'];
    const { stdout, code } = await runPodloop([
      ...['doctor', '-r', replay.endpoint, '--for', '2s', '-o', 'json', ...nobody, ...machine],
    ]);
    const { findings } = JSON.parse(stdout) as { findings: readonly unknown[] };
    expect({ findings, code }).toEqual({ findings: [], code: 0 });
  });
});
