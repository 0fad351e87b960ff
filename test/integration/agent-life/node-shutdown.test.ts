import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { untilTrue } from '#support/until-true.js';
import { type LogindPort } from '../../../src/node/resources/shutdown/logind.js';
import { EmbeddedNode } from '../embedded-node.js';
import { AgentNode } from '../pod-stories/agent-node.js';

/** A logind whose machine a test shuts down. */
class FakeLogind implements LogindPort {
  locks = 0;
  isShuttingDown = false;
  #notify: (isShuttingDown: boolean) => void = () => undefined;

  set(isShuttingDown: boolean): void {
    this.isShuttingDown = isShuttingDown;
    this.#notify(isShuttingDown);
  }

  async delayMs(): Promise<number> {
    return Promise.resolve(60_000);
  }

  async raiseDelay(): Promise<void> {
    return Promise.reject(new Error('it is long enough'));
  }

  async isPreparing(): Promise<boolean> {
    return Promise.resolve(this.isShuttingDown);
  }

  async lock() {
    this.locks++;
    let isHeld = true;
    const release = (): void => {
      if (isHeld) this.locks--;
      isHeld = false;
    };
    return Promise.resolve({ release, gone: new Promise<undefined>(() => undefined) });
  }

  async watch(onSignal: (isShuttingDown: boolean) => void, signal: AbortSignal): Promise<void> {
    this.#notify = onSignal;
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }
}

let node: EmbeddedNode;
let agent: AgentNode | undefined;
const logind = new FakeLogind();

beforeAll(async () => {
  node = await EmbeddedNode.start({ network: 'none' });
  await mkdir(join(node.folder, 'manifests'));
});
afterAll(async () => {
  await stopAgent();
  await node[Symbol.asyncDispose]();
});

async function putPod(name: string, more: object = {}): Promise<void> {
  const command = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.1; done'];
  const main = { name: 'main', image: 'podloop.local/host', command };
  const spec = { terminationGracePeriodSeconds: 5, containers: [main], ...more };
  const pod = { ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } }, spec };
  await writeFile(join(node.folder, 'half'), JSON.stringify(pod));
  await rename(join(node.folder, 'half'), join(node.folder, 'manifests', `${name}.json`));
}

async function startAgent(): Promise<AgentNode> {
  const { folder, listen: endpoint } = node;
  const periods = { shutdownGracePeriodMs: 400_000, shutdownGracePeriodCriticalPodsMs: 200_000 };
  agent = await AgentNode.start({ folder, endpoint, logind, agent: periods });
  return agent;
}

async function stopAgent(): Promise<void> {
  const ending = agent;
  agent = undefined;
  await ending?.stop();
}

/** Phase and reason of each pod, in the order of their names. */
function shown(): string[] {
  const statuses = agent?.agent.statuses() ?? [];
  return statuses
    .map(({ pod, status: { phase, reason = '' } }) => `${pod.name} ${phase} ${reason}`.trim())
    .sort();
}

async function untilShown(wanted: readonly string[]): Promise<void> {
  const isShown = (): boolean => JSON.stringify(shown()) === JSON.stringify(wanted);
  await untilTrue(isShown).catch(() => expect(shown()).toEqual(wanted));
}

describe('an agent whose machine shuts down', { timeout: 120_000 }, () => {
  it('ends its pods in order, starts none, and runs all of them again when that is cancelled', async () => {
    await putPod('web');
    await putPod('agent', { priorityClassName: 'system-node-critical' });
    const { agent: inner } = await startAgent();
    await untilShown(['agent-test Running', 'web-test Running']);
    await untilTrue(() => logind.locks === 1);
    const ends: string[] = [];
    using changes = inner.watchStatuses();
    const reading = (async () => {
      for await (const change of changes)
        if (change.type === 'status' && change.record.status.phase === 'Failed')
          ends.push(change.record.pod.name);
    })();

    logind.set(true);
    await untilShown(['agent-test Failed Terminated', 'web-test Failed Terminated']);
    await untilTrue(() => logind.locks === 0);
    const [record] = inner.statuses();
    expect(record?.status.message).toBe('Pod was terminated in response to imminent node shutdown.');
    expect(record?.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', reason: 'TerminationByKubelet', status: 'True' }),
    );
    expect([...new Set(ends)]).toEqual(['web-test', 'agent-test']);

    await putPod('late');
    await untilShown([
      ...['agent-test Failed Terminated', 'late-test Failed NodeShutdown', 'web-test Failed Terminated'],
    ]);

    logind.set(false);
    await untilShown(['agent-test Running', 'late-test Running', 'web-test Running']);
    await untilTrue(() => logind.locks === 1);
    changes[Symbol.dispose]();
    await reading;
    await stopAgent();
    expect(logind.locks).toBe(0);
  });

  it('runs its pods again after the boot', async () => {
    await startAgent();
    await untilShown(['agent-test Running', 'late-test Running', 'web-test Running']);
    logind.set(true);
    await untilShown([
      ...['agent-test Failed Terminated', 'late-test Failed Terminated', 'web-test Failed Terminated'],
    ]);
    await stopAgent();

    logind.isShuttingDown = false;
    await startAgent();
    await untilShown(['agent-test Running', 'late-test Running', 'web-test Running']);
  });
});
