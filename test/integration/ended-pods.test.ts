/**
 * What has ended stays ended: over restarts of the agent, also when the clock was set back and when the runtime has lost
 * every trace of it; and it runs again when its manifest asks for that.
 *
 * @module
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AgentOptions } from '../../src/node/options/agent-options.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { EmbeddedNode, until } from './embedded-node.js';
import { MovableClock } from './movable-clock.js';
import { AgentNode } from './pod-stories/agent-node.js';

const HOUR_MS = 3_600_000;
const STAYS = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
const LIMIT_MS = 60_000;

let node: EmbeddedNode;
let agent: AgentNode | undefined;
let logger: LogRecorder;

beforeEach(async () => {
  node = await EmbeddedNode.start({ network: 'none' });
  await mkdir(join(node.folder, 'manifests'));
  logger = new LogRecorder();
});

afterEach(async () => {
  await stopAgent();
  await node[Symbol.asyncDispose]();
});

async function startAgent(offsetMs = 0, options: Partial<AgentOptions> = {}): Promise<AgentNode> {
  const clock = new MovableClock({ offsetMs });
  const { folder, listen: endpoint } = node;
  agent = await AgentNode.start({ folder, endpoint, clock, logger, agent: options });
  return agent;
}

async function stopAgent(): Promise<void> {
  const ending = agent;
  agent = undefined;
  await ending?.stop();
}

/** Each start of the container leaves a line in a file of the pod's name. */
async function put(name: string, script: string, more: Record<string, unknown> = {}): Promise<void> {
  const { labels = {}, ports, ...spec } = more;
  const command = ['sh', '-c', `echo start >> ${join(node.folder, name)}; ${script}`];
  const main = {
    name: 'main',
    image: 'podloop.local/host',
    command,
    ...(ports === undefined ? {} : { ports }),
  };
  const manifest = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, labels } },
    spec: { terminationGracePeriodSeconds: 1, restartPolicy: 'Never', containers: [main], ...spec },
  };
  const path = join(node.folder, 'manifests', `${name}.json`);
  await writeFile(join(node.folder, 'half'), JSON.stringify(manifest));
  await rename(join(node.folder, 'half'), path);
}

async function startsOf(name: string): Promise<number> {
  const text = await readFile(join(node.folder, name), 'utf8').catch(() => '');
  return text.split('\n').length - 1;
}

function recordOf(name: string) {
  return agent?.agent.statuses().find(({ pod }) => pod.name === `${name}-test`);
}

/** The last status of a pod, once there is one. */
async function ended(name: string): Promise<V1PodStatus> {
  const record = await until(
    () => recordOf(name),
    (found) => found?.isFinished === true,
  );
  return record!.status;
}

async function removeAllOfRuntime(): Promise<void> {
  await node.clear();
  const { containers } = await node.client.listContainers({});
  expect(containers).toEqual([]);
}

describe('a pod that has ended', { timeout: LIMIT_MS }, () => {
  it('stays so when the clock was set back while no agent ran', async () => {
    await put('late', STAYS, { restartPolicy: 'Always', activeDeadlineSeconds: 1 });
    await put('job', 'exit 0', { restartPolicy: 'OnFailure' });
    await startAgent();
    const before = [await ended('late'), await ended('job')];
    expect(before).toMatchObject([{ phase: 'Failed', reason: 'DeadlineExceeded' }, { phase: 'Succeeded' }]);
    // On a busy machine its time may have been up before its container began.
    const lateStarts = await startsOf('late');
    await stopAgent();
    await startAgent(-HOUR_MS);
    expect([await ended('late'), await ended('job')]).toEqual(before);
    expect([await startsOf('late'), await startsOf('job')]).toEqual([lateStarts, 1]);
  });

  it('does not run again when the runtime has lost all that it knew of it', async () => {
    await put('late', STAYS, { restartPolicy: 'Always', activeDeadlineSeconds: 1 });
    await put('good', 'exit 0', { restartPolicy: 'OnFailure' });
    await put('bad', 'exit 3');
    await startAgent();
    const before = [await ended('late'), await ended('good'), await ended('bad')];
    expect(before.map(({ phase }) => phase)).toEqual(['Failed', 'Succeeded', 'Failed']);
    const lateStarts = await startsOf('late');
    await stopAgent();
    await removeAllOfRuntime();
    await startAgent();
    expect([await ended('late'), await ended('good'), await ended('bad')]).toEqual(before);
    await put('next', 'exit 0');
    await ended('next');
    expect([await startsOf('late'), await startsOf('good'), await startsOf('bad')]).toEqual([
      lateStarts,
      1,
      1,
    ]);
  });

  it('runs again for an edit that was made while no agent ran, if it asks for that', async () => {
    for (const name of ['edited', 'labelled']) await put(name, 'exit 0');
    await startAgent();
    for (const name of ['edited', 'labelled']) await ended(name);
    await stopAgent();
    await put('edited', 'exit 7');
    await put('labelled', 'exit 0', { labels: { version: '2' } });
    await startAgent();
    await until(
      () => recordOf('edited'),
      (record) => record?.isFinished === true && record.status.phase === 'Failed',
    );
    await ended('labelled');
    expect([await startsOf('edited'), await startsOf('labelled')]).toEqual([2, 1]);
    await stopAgent();
    await startAgent();
    expect((await ended('edited')).containerStatuses[0]?.state.terminated?.exitCode).toBe(7);
    expect([await startsOf('edited'), await startsOf('labelled')]).toEqual([2, 1]);
  });

  it('has a batch wait for its next run when it was edited after its end', async () => {
    await put('job', 'exit 3');
    await startAgent(0, { exitWhenDone: true });
    await ended('job');
    await stopAgent();
    await put('job', 'exit 0');
    await startAgent(0, { exitWhenDone: true });
    await until(
      () => recordOf('job'),
      (record) => record?.status.phase === 'Succeeded',
    );
    expect(await startsOf('job')).toBe(2);
  });

  it('runs again when its manifest is put back, and leaves nothing once it is taken away', async () => {
    await put('job', 'exit 0');
    await startAgent();
    await ended('job');
    const isEmpty = (names: readonly string[]): boolean => names.length === 0;
    const manifest = join(node.folder, 'manifests', 'job.json');
    await rm(manifest);
    await until(() => readdir(join(node.folder, 'node', 'pods')), isEmpty);
    await put('job', 'exit 0');
    await until(
      () => startsOf('job'),
      (starts) => starts === 2,
    );
    await ended('job');
    await rm(manifest);
    await until(() => readdir(join(node.folder, 'node', 'pods')), isEmpty);
  });

  it('is none whose edit was taken back before it was made anew, also while no agent ran', async () => {
    const volumes = [{ name: 'typo', configMap: { name: 'is-not-there' } }];
    await put('job', STAYS);
    await startAgent();
    for (const starts of [2, 3]) {
      await until(
        () => recordOf('job'),
        (record) => record?.status.phase === 'Running',
      );
      // A container runs before its shell has written anything.
      await until(
        () => startsOf('job'),
        (seen) => seen === starts - 1,
      );
      await put('job', STAYS, { volumes });
      await until(
        () => recordOf('job'),
        (record) => record?.status.phase === 'Pending',
      );
      if (starts === 3) await stopAgent();
      await put('job', STAYS);
      if (starts === 3) await startAgent();
      await until(
        () => startsOf('job'),
        (seen) => seen === starts,
      );
    }
    await until(
      () => recordOf('job'),
      (record) => record?.status.phase === 'Running',
    );
  });

  it('keeps its place from nobody, and is not judged when the agent starts', async () => {
    const ports = [{ containerPort: 18_080, hostPort: 18_080 }];
    await put('a-job', 'exit 0', { ports });
    await startAgent();
    const before = await ended('a-job');
    await put('server', STAYS, { ports, restartPolicy: 'Always' });
    await until(
      () => startsOf('server'),
      (starts) => starts === 1,
    );
    await stopAgent();
    await startAgent();
    expect(await ended('a-job')).toEqual(before);
    const server = await until(
      () => recordOf('server'),
      (record) => record?.status.phase === 'Running',
    );
    expect(server?.status.containerStatuses[0]?.restartCount).toBe(0);
    expect([await startsOf('a-job'), await startsOf('server')]).toEqual([1, 1]);
  });
});

describe('a pod that was rejected', { timeout: LIMIT_MS }, () => {
  it('runs once an edit has removed what stood in its way, and is judged anew by the next agent', async () => {
    const ports = [{ containerPort: 18_081, hostPort: 18_081 }];
    await put('server', STAYS, { ports, restartPolicy: 'Always' });
    await startAgent();
    await until(
      () => startsOf('server'),
      (starts) => starts === 1,
    );
    await put('edited', 'exit 0', { ports });
    await put('a-first', 'exit 0', { ports });
    const rejected = { phase: 'Failed', reason: 'NodePorts' };
    expect([await ended('edited'), await ended('a-first')]).toMatchObject([rejected, rejected]);
    await put('edited', 'exit 0');
    await until(
      () => recordOf('edited'),
      (record) => record?.isFinished === true && record.status.phase === 'Succeeded',
    );
    await stopAgent();
    // It comes before the other one in the folder, and still does not take its place.
    await startAgent();
    expect(await ended('a-first')).toMatchObject(rejected);
    await stopAgent();
    await rm(join(node.folder, 'manifests', 'server.json'));
    await startAgent();
    await until(
      () => recordOf('a-first'),
      (record) => record?.isFinished === true && record.status.phase === 'Succeeded',
    );
    expect([await startsOf('edited'), await startsOf('a-first'), await startsOf('server')]).toEqual([
      1, 1, 1,
    ]);
  });
});
