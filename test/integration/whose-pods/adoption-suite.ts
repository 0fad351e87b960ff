import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cri } from '../../../src/watch/cri/index.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { until } from '../embedded-node.js';
import { LocalApiClient } from '../local-api-client.js';
import { AgentNode } from '../pod-stories/agent-node.js';
import { type StoryRuntime } from '../pod-stories/story-suite.js';
import { ForeignNode } from './foreign-node.js';

const UID = '0123456789abcdef0123456789abcdef';
const SLEEP = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
/** As a kubelet writes them. */
const annotations = {
  'io.kubernetes.container.hash': '9f0a1b2c',
  'io.kubernetes.pod.terminationGracePeriod': '2',
  'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
};

const manifest = (second = SLEEP): string => `
apiVersion: v1
kind: Pod
metadata: { name: db }
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 2
  containers:
    - { name: first, image: 'podloop.test/programs:1', command: [sh, -c, '${SLEEP}'] }
    - { name: second, image: 'podloop.test/programs:1', command: [sh, -c, '${second}'] }
`;

/** What a kubelet has left: a pod that runs, with a dead container of before. */
const LEFT = {
  ...{ name: 'db-test', uid: UID },
  containers: [
    { name: 'second', script: 'exit 1', ends: true, annotations },
    { name: 'first', script: SLEEP, annotations },
    { name: 'second', script: SLEEP, attempt: 1, annotations },
  ],
};

/** To be called inside of a `describe`; each test goes on where the one before ended. */
export function defineAdoptionTests(start: (folder: string) => Promise<StoryRuntime>): void {
  let folder: string;
  let runtime: StoryRuntime;
  let kubelet: ForeignNode;
  let left: Awaited<ReturnType<ForeignNode['make']>>;

  const startAgent = async (adopt: boolean, logger = new LogRecorder()): Promise<AgentNode> =>
    AgentNode.start({ folder, endpoint: runtime.endpoint, agent: { adopt }, logger });
  const statusOf = (node: AgentNode) => node.agent.statuses().find(({ pod }) => pod.name === 'db-test');
  /** The ids of the running containers of the pod, by name. */
  const idsOf = (node: AgentNode): Record<string, string> =>
    Object.fromEntries(
      (statusOf(node)?.status.containerStatuses ?? [])
        .filter(({ state }) => state.running !== undefined)
        .map(({ name, containerID = '' }) => [name, containerID.replace(/^.*:\/\//, '')]),
    );
  const record = async (): Promise<string> => readFile(join(folder, 'node', 'adopted-pods.json'), 'utf8');
  const writeManifest = async (text: string): Promise<void> =>
    writeFile(join(folder, 'manifests', 'db.yaml'), text);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-adopt-'));
    runtime = await start(folder);
    kubelet = new ForeignNode({ endpoint: runtime.endpoint, podLogsDir: join(folder, 'pod-logs') });
    left = await kubelet.make(LEFT);
  }, 120_000);

  afterAll(async () => {
    await kubelet.clear();
    kubelet[Symbol.dispose]();
    await runtime.end();
    await rm(folder, { recursive: true, force: true });
  }, 120_000);

  it('takes a pod over as it is, under its own uid, and keeps it over a restart', async () => {
    const [, first, second] = left.containerIds;
    const logger = new LogRecorder();
    const seen = await kubelet.look(new Set([UID]));
    for (const adopt of [true, false]) {
      await using node = await startAgent(adopt, logger);
      await writeManifest(manifest());
      await until(
        () => statusOf(node)?.status.phase,
        (phase) => phase === 'Running',
      );
      expect(statusOf(node)?.pod.uid).toBe(UID);
      expect(idsOf(node)).toEqual({ first, second });
      expect(statusOf(node)?.status.containerStatuses.map(({ restartCount }) => restartCount)).toEqual([
        0, 1,
      ]);
    }
    const told = new Set(logger.complaints.map(({ message }) => message));
    // As an agent that has just started says.
    told.delete('Skipping pod synchronization');
    expect([...told]).toEqual([]);
    expect(await kubelet.look(new Set([UID]))).toEqual(seen);
    expect(JSON.parse(await record())).toMatchObject({
      pods: [{ namespace: 'default', name: 'db-test', uid: UID }],
    });
    expect((await record()).replaceAll(' ', '')).toContain('"writtenHash":"9f0a1b2c"');
  });

  it('restarts what an edit changes and what dies, with marks of its own, and nothing else', async () => {
    const [, first, second] = left.containerIds;
    // Edited while no agent runs: what counts is what the manifest said when the pod was taken over.
    await writeManifest(manifest(`echo edited; ${SLEEP}`));
    await using node = await startAgent(false);
    const edited = await until(
      () => idsOf(node),
      (ids) => ids['second'] !== undefined && ids['second'] !== second,
    );
    const { status } = await kubelet.client.containerStatus({ containerId: edited['second']! });
    expect(status?.metadata).toMatchObject({ name: 'second', attempt: 2 });
    expect(status?.labels).toMatchObject({
      'io.kubernetes.pod.uid': UID,
      'podloop.dev/node-instance': node.agent.identity.instanceId,
    });
    await kubelet.client.stopContainer({ containerId: first!, timeout: 0n });
    const restarted = await until(
      () => idsOf(node),
      (ids) => ids['first'] !== undefined && ids['first'] !== first && ids['second'] !== undefined,
    );
    expect(restarted['second']).toBe(edited['second']);
    const { items } = await kubelet.client.listPodSandbox({});
    expect(items.map(({ id, state }) => [id, state])).toEqual([
      [left.sandboxId, cri.PodSandboxState.SANDBOX_READY],
    ]);
  });

  it('ends the pod with its manifest, and forgets it when nothing of it is left', async () => {
    await using node = await startAgent(false);
    await until(
      () => statusOf(node)?.status.phase,
      (phase) => phase === 'Running',
    );
    await rm(join(folder, 'manifests', 'db.yaml'));
    await until(record, (text) => (JSON.parse(text) as { pods: unknown[] }).pods.length === 0);
    expect(await kubelet.uids()).toEqual([]);
    // The next of that name is ours from the beginning.
    await writeManifest(manifest());
    await until(
      () => statusOf(node)?.status.phase,
      (phase) => phase === 'Running',
    );
    expect(statusOf(node)?.pod.uid).not.toBe(UID);
    await rm(join(folder, 'manifests', 'db.yaml'));
    await until(
      () => kubelet.uids(),
      (uids) => uids.length === 0,
    );
  });

  it('ends an adopted pod that somebody stops, keeps it away over a restart, and forgets that with its manifest', async () => {
    const api = new LocalApiClient(join(folder, 'node', 'podloop.sock'));
    const pods = '/api/v1/namespaces/default/pods';
    const phases = async (): Promise<unknown[]> => {
      const { items } = (await api.json(pods)) as { items: { status: { phase: string } }[] };
      return items.map(({ status }) => status.phase);
    };
    await kubelet.make(LEFT);
    await writeManifest(manifest());
    {
      await using node = await startAgent(true);
      await until(
        () => statusOf(node)?.status.phase,
        (phase) => phase === 'Running',
      );
      expect(statusOf(node)?.pod.uid).toBe(UID);
      expect((await api.ask(`${pods}/db-test`, 'DELETE')).text).toContain('"deletionTimestamp"');
      await until(record, (text) => !text.includes(UID));
      expect([await kubelet.uids(), await phases()]).toEqual([[], []]);
    }
    await using _ = await startAgent(true);
    // Whatever the folder wants has come by then.
    await until(
      async () => api.ask('/readyz').catch(() => undefined),
      (answer) => answer?.code === 200,
    );
    expect([await kubelet.uids(), await phases()]).toEqual([[], []]);
    await rm(join(folder, 'manifests', 'db.yaml'));
    await until(
      async () => readFile(join(folder, 'node', 'stopped-pods.json'), 'utf8'),
      (text) => !text.includes(UID),
    );
  });

  it('ends an adopted pod whose manifest went while no agent ran', async () => {
    await kubelet.make(LEFT);
    await writeManifest(manifest());
    await using adopting = await startAgent(true);
    await until(
      () => statusOf(adopting)?.status.phase,
      (phase) => phase === 'Running',
    );
    await adopting.stop();
    await rm(join(folder, 'manifests', 'db.yaml'));
    await using _ = await startAgent(false);
    await until(record, (text) => !text.includes(UID));
    expect(await kubelet.uids()).toEqual([]);
  });
}
