import { Channels } from '#base/channels/publishing-channel.js';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AgentOptions } from '../../../src/node/options/agent-options.js';
import { buildAgentParts } from '../../../src/node/parts/agent-parts.js';
import { readInstanceId } from '../../../src/node/resources/facts/node-identity.js';
import { resolveAgentOptions } from '../../../src/node/options/resolve-agent-options.js';
import { INLINE_PARSER } from '../../../src/node/desired/manifests/parse-manifest.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { SystemClock } from '#base/time/clock.js';
import { until } from '../embedded-node.js';
import { AgentNode } from '../pod-stories/agent-node.js';
import { type StoryRuntime } from '../pod-stories/story-suite.js';
import { ForeignNode, type ForeignPod, readTree } from './foreign-node.js';

const SLEEP = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
const OTHER = { 'podloop.dev/node-instance': 'another-agent' };
const DEAD = { name: 'done', script: 'echo done; exit 3', ends: true };
const ALIVE = { name: 'main', script: `echo up; ${SLEEP}` };

/** Of every kind that may be beside an agent; `web-test` has the name of a pod of the agent's own. */
const PODS: readonly ForeignPod[] = [
  { name: 'by-hand', uid: 'hand-1', hasKubeletLabels: false, containers: [ALIVE, DEAD] },
  { name: 'proxy', uid: 'kubelet-1', namespace: 'kube-system', containers: [ALIVE, DEAD] },
  {
    ...{ name: 'job', uid: 'kubelet-2', isDead: true },
    containers: [DEAD, { ...DEAD, attempt: 1 }, { ...DEAD, attempt: 2 }],
  },
  { name: 'web-test', uid: 'kubelet-3', containers: [ALIVE, DEAD] },
  { name: 'api', uid: 'other-1', labels: OTHER, containers: [ALIVE, DEAD] },
  { name: 'old', uid: 'other-2', labels: OTHER, isDead: true, containers: [DEAD, { ...DEAD, attempt: 1 }] },
  { name: 'db-test', uid: 'taken-uid', labels: OTHER, containers: [ALIVE] },
];
const UIDS = new Set(PODS.map(({ uid }) => uid));

const own = (name: string, script: string, more = ''): string => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}${more} }
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 2
  containers:
    - { name: main, image: 'podloop.test/programs:1', command: [sh, -c, '${script}'] }
`;

/** As eager as options can be: everything that may go goes at once. */
const EAGER: Partial<AgentOptions> = {
  ...{ maximumDeadContainers: 0, maximumDeadContainersPerContainer: 0, minimumContainerTtlMs: 0 },
  ...{ imageGcHighThreshold: 1, imageGcLowThreshold: 0, imageMinimumGcAgeMs: 0 },
  ...{ containerLogMaxSizeBytes: 1, containerLogMonitorIntervalMs: 50 },
};

/** Two tests; to be called inside of a `describe`. */
export function defineForeignPodTests(start: (folder: string) => Promise<StoryRuntime>): void {
  let folder: string;
  let podLogsDir: string;
  let runtime: StoryRuntime;
  let others: ForeignNode;
  let seen: unknown;
  let files: Record<string, string>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-whose-'));
    podLogsDir = join(folder, 'pod-logs');
    runtime = await start(folder);
    others = new ForeignNode({ endpoint: runtime.endpoint, podLogsDir });
    await Promise.all(PODS.map(async (pod) => others.make(pod)));
    // What other agents and people keep beside the logs of pods.
    await mkdir(join(podLogsDir, 'kube-system_gone_kubelet-9', 'main'), { recursive: true });
    await writeFile(
      join(podLogsDir, 'kube-system_gone_kubelet-9', 'main', '0.log'),
      'of a pod that is gone\n',
    );
    await mkdir(join(podLogsDir, 'archive'));
    await writeFile(join(podLogsDir, 'archive', 'notes.log'), 'mine\n');
    await symlink('/nowhere/0.log', join(podLogsDir, 'archive', 'broken.log'));
    await symlink(join(podLogsDir, 'archive'), join(podLogsDir, 'link_to_archive'));
    seen = await others.look(UIDS);
    files = await readTree(podLogsDir);
  }, 120_000);

  afterAll(async () => {
    await others.clear();
    others[Symbol.dispose]();
    await runtime.end();
    await rm(folder, { recursive: true, force: true });
  }, 120_000);

  it('are left alone by an agent whose pods live, crash, are taken away and stopped beside them', async () => {
    const logger = new LogRecorder();
    const agent = { ...EAGER, stopPods: true };
    const node = await AgentNode.start({ folder, endpoint: runtime.endpoint, agent, logger });
    const phaseOf = (name: string): string | undefined =>
      node.agent.statuses().find(({ pod }) => pod.name === name)?.status.phase;
    const write = async (name: string, text: string): Promise<void> =>
      writeFile(join(node.manifestFolder, `${name}.yaml`), text);
    await write('web', own('web', SLEEP));
    await write('crash', own('crash', 'echo no; exit 1'));
    await write('gone', own('gone', SLEEP));
    await write('db', own('db', SLEEP, ', uid: taken-uid'));
    await until(
      () => ['web-test', 'gone-test'].map(phaseOf),
      (phases) => phases.every((phase) => phase === 'Running'),
    );
    await until(
      () => node.agent.statuses().find(({ pod }) => pod.name === 'crash-test')?.status.containerStatuses[0],
      (status) => (status?.restartCount ?? 0) > 0,
    );
    await rm(join(node.manifestFolder, 'gone.yaml'));
    await until(
      () => phaseOf('gone-test'),
      (phase) => phase === undefined,
    );
    // The uid that its manifest says is taken: nothing may be done under it.
    expect(node.agent.statuses().find(({ pod }) => pod.uid === 'taken-uid')?.status).toMatchObject({
      ...{ phase: 'Failed', reason: 'ForeignPod' },
    });
    const warnings = logger.complaints.filter(
      ({ fields }) => (fields['pod'] as { name?: string } | undefined)?.name === 'web-test',
    );
    expect(warnings.map(({ message }) => message)).toEqual([
      'a pod of a kubelet with the uid kubelet-3 has the same name default/web-test; it is left alone, and the pod of this agent runs beside it. With --adopt it is taken over instead',
    ]);
    await node.stop();
    expect(await others.uids()).toEqual([...UIDS].toSorted());
    expect(await others.look(UIDS)).toEqual(seen);
    expect(await readTree(podLogsDir)).toEqual(files);
  });

  it('are left alone by every collector of an agent that wants no pod at all', async () => {
    const rootDir = join(folder, 'node');
    const logger = new LogRecorder();
    const parts = await buildAgentParts({
      options: resolveAgentOptions({ ...EAGER, rootDir, podLogsDir }),
      identity: { name: 'test', instanceId: await readInstanceId(rootDir), ips: () => [] },
      hostIps: { refresh: async () => undefined, onChange: () => undefined },
      ...{
        client: others.client,
        runtimeName: 'test',
        runtimeUrl: runtime.endpoint,
        stdin: new PassThrough(),
        channels: new Channels(),
      },
      ...{ manifestParser: INLINE_PARSER, clock: new SystemClock(), logger },
    });
    const never = new AbortController().signal;
    const { pleg, collectors, housekeeping, cache } = parts;
    for (let round = 0; round < 3; round++) {
      await pleg.relist();
      await until(
        () => [...cache.uids()].filter((uid) => UIDS.has(uid)).length,
        (count) => count === UIDS.size,
      );
      housekeeping.run();
      expect(await collectors.containers.collect(never)).toEqual({ containers: 0, sandboxes: 0, failed: 0 });
      for (const uid of UIDS) {
        for (const { id } of cache.get(uid).status.containers) {
          await collectors.containers.containerDied(uid, id, never);
        }
      }
      await collectors.containers.cleanUp({ mayRemove: () => true }, never);
      await collectors.folders.cleanUp({ mayRemove: () => true }, never);
      await collectors.logs.rotate(never);
      await collectors.images.collect(never);
    }
    await housekeeping.close();
    await parts.workers.close();
    pleg.closeSubscriptions();
    // It did want to remove images, and found none of its own.
    const told = new Set(logger.complaints.map(({ message }) => message));
    expect([...told]).toEqual(['Failed to garbage collect required amount of images']);
    expect(await others.look(UIDS)).toEqual(seen);
    expect(await readTree(podLogsDir)).toEqual(files);
  });
}
