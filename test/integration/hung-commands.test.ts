import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ChaosProxy, parseRules } from '../../src/proxy/chaos/index.js';
import { type V1ContainerStatus } from '#kube/pod/v1-pod-status.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { EmbeddedNode, until } from './embedded-node.js';
import { HurriedClock } from './hurried-clock.js';
import { AgentNode } from './pod-stories/agent-node.js';

/** The half minute in which an agent ends stays longer than the three seconds that hooks get. */
const SPEED = { fromMs: 10_000, times: 5 };

const CHECK = { exec: { command: ['true'] }, periodSeconds: 1, timeoutSeconds: 1, failureThreshold: 1 };
const container = (name: string, more: object): object => ({
  ...{ name, image: 'podloop.local/host', command: ['sh', '-c', 'exec sleep 1000'], ...more },
});
const pod = (name: string, ...containers: object[]): object => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
  spec: { terminationGracePeriodSeconds: 1, containers },
});
const HANGING = `rules:
  - name: commands hang
    match: { methods: [ExecSync] }
    fault: { type: hang }
`;
const AWAY = `rules:
  - name: everything hangs
    match: {}
    fault: { type: hang }
`;

/** An embedded runtime, chaos in front of it, and a folder of manifests. */
async function withHungRuntime(
  work: (scene: {
    readonly folder: string;
    readonly endpoint: string;
    readonly proxy: ChaosProxy;
    readonly injected: Set<string>;
    readonly write: (name: string, manifest: object) => Promise<void>;
  }) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-hung-commands-'));
  await using node = await EmbeddedNode.start({ network: 'none' });
  const endpoint = `unix://${folder}/chaos.sock`;
  const injected = new Set<string>();
  const proxy = await ChaosProxy.start({
    ...{ upstream: node.listen, listen: endpoint, rules: [], seed: 1 },
    onInjection: ({ rule }) => void injected.add(rule),
  });
  try {
    await mkdir(join(folder, 'manifests'));
    const write = async (name: string, manifest: object): Promise<void> => {
      await writeFile(join(folder, 'manifests', `${name}.json`), JSON.stringify(manifest));
    };
    await work({ folder, endpoint, proxy, injected, write });
  } finally {
    await proxy.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function statusOf({ agent }: AgentNode, podName: string, name: string): V1ContainerStatus | undefined {
  const record = agent.statuses().find((each) => each.pod.name === `${podName}-test`);
  return record?.status.containerStatuses.find((status) => status.name === name);
}

it('restarts, makes unready and never starts what alone hangs in commands, and ends without waiting for them', async () => {
  await withHungRuntime(async ({ folder, endpoint, proxy, write }) => {
    const logger = new LogRecorder();
    await write(
      'web',
      pod(
        'web',
        container('live', { livenessProbe: CHECK }),
        container('ready', { readinessProbe: CHECK }),
        container('other', {}),
      ),
    );
    const clock = new HurriedClock(SPEED);
    const agent = await AgentNode.start({ folder, endpoint, logger, clock });
    await until(
      () => statusOf(agent, 'web', 'ready')?.ready,
      (ready) => ready === true,
    );
    proxy.replaceRules(parseRules(HANGING, 'rules.yaml'));
    await write('late', pod('late', container('slow', { startupProbe: CHECK })));
    await until(
      () => statusOf(agent, 'web', 'live')?.restartCount ?? 0,
      (count) => count > 0,
    );
    await until(
      () => statusOf(agent, 'web', 'ready')?.ready,
      (ready) => ready === false,
    );
    await until(
      () => statusOf(agent, 'late', 'slow')?.restartCount ?? 0,
      (count) => count > 0,
    );
    expect(statusOf(agent, 'web', 'ready')?.restartCount).toBe(0);
    expect(statusOf(agent, 'web', 'other')?.restartCount).toBe(0);
    for (const [name, type] of [
      ['web', 'Liveness'],
      ['web', 'Readiness'],
      ['late', 'Startup'],
    ] as const) {
      expect(agent.eventsOf(name)).toContain(
        `Warning Unhealthy: ${type} probe failed: command timed out: "true" timed out after 1s`,
      );
    }
    await agent.stop();
    expect(logger.complaints.filter(({ message }) => message.includes('left to itself'))).toEqual([]);

    // The next agent has the root folder at once, and ends the pods although their hooks hang.
    const hook = { exec: { command: ['true'] } };
    await write('hooked', pod('hooked', container('main', { lifecycle: { preStop: hook } })));
    await write('stuck', pod('stuck', container('main', { lifecycle: { postStart: hook } })));
    const next = await AgentNode.start({ folder, endpoint, logger, clock, agent: { stopPods: true } });
    await until(
      () => statusOf(next, 'hooked', 'main')?.ready,
      (ready) => ready === true,
    );
    await until(
      () => next.eventsOf('stuck'),
      (events) => events.some((event) => event.includes('Started')),
    );
    await next.stop();
    expect(next.agent.pods()).toEqual([]);
    expect(logger.complaints.filter(({ message }) => message.includes('left to itself'))).toEqual([]);
  });
});

it('blames no container while the runtime answers nothing', async () => {
  await withHungRuntime(async ({ folder, endpoint, proxy, injected, write }) => {
    await write('web', pod('web', container('main', { livenessProbe: CHECK, readinessProbe: CHECK })));
    const clock = new HurriedClock(SPEED);
    await using agent = await AgentNode.start({ folder, endpoint, clock, agent: { stopPods: true } });
    await until(
      () => statusOf(agent, 'web', 'main')?.ready,
      (ready) => ready === true,
    );
    proxy.replaceRules(parseRules(AWAY, 'rules.yaml'));
    await until(
      () => agent.eventsOf('web'),
      (events) => events.some((event) => event.includes('Readiness probe errored')),
    );
    expect(injected.size).toBeGreaterThan(0);
    expect(agent.eventsOf('web').join('\n')).not.toContain('probe failed');
    proxy.replaceRules([]);
    expect(statusOf(agent, 'web', 'main')).toMatchObject({ ready: true, restartCount: 0 });
  });
});
