import { setTimeout as sleep } from 'node:timers/promises';
import { readProcessUsage, usageBetween } from '../agents/process-usage.js';
import { withDeadline } from '../with-deadline.js';
import { type JoinedNode } from './joined-node.js';
import { measuredPodSpec } from './measured-pod.js';

/** A Deployment, from its creation to its end. */
export interface DeploymentFigures {
  readonly replicas: number;
  /** Until the API server told of the last pod that it is Ready. */
  readonly readyMs: number;
  /** From its deletion in the foreground until the API server told that the last pod is gone. */
  readonly goneMs: number;
  /** Of the agent, over both. */
  readonly cpuMs: number;
  /** Of it, until all were ready. */
  readonly readyCpuMs: number;
  /** Of the agent, with all pods ready. */
  readonly rssMiB: number;
}

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const NAME = 'many';
const GRACE_SECONDS = 2;
const WAIT_MS = 300_000;
/** Between the two, so that neither has work of the other's. */
const CALM_MS = 5_000;

/** Creates a Deployment, waits until all of it is ready, and deletes it in the foreground. */
export async function measureDeployment(
  { client, pods, agent }: JoinedNode,
  { replicas, signal }: { replicas: number; signal: AbortSignal },
): Promise<DeploymentFigures> {
  const wait = { prefix: `${NAME}-`, count: replicas, check: () => agent.check() };
  const until = async (what: 'ready' | 'gone'): Promise<number> => {
    const found = await withDeadline(`until ${replicas} pods are ${what}`, WAIT_MS, signal, (within) =>
      pods.until(what, { ...wait, signal: within }),
    );
    return Math.max(...found.map((pod) => pod[`${what}Ms`]!));
  };
  const before = readProcessUsage(agent.pid);
  const appliedMs = Date.now();
  await client.request({ method: 'POST', path: DEPLOYMENTS, body: toDeployment(replicas) });
  const readyMs = (await until('ready')) - appliedMs;
  const ready = readProcessUsage(agent.pid);
  await sleep(CALM_MS, undefined, { signal });
  const deletedMs = Date.now();
  const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Foreground' };
  await client.request({ method: 'DELETE', path: `${DEPLOYMENTS}/${NAME}`, body });
  const goneMs = (await until('gone')) - deletedMs;
  const { cpuMs } = usageBetween(before, readProcessUsage(agent.pid));
  const { cpuMs: readyCpuMs, rssMiB } = usageBetween(before, ready);
  return { replicas, readyMs, goneMs, cpuMs, readyCpuMs, rssMiB };
}

function toDeployment(replicas: number): object {
  const labels = { app: NAME };
  return {
    metadata: { name: NAME },
    spec: {
      ...{ replicas, selector: { matchLabels: labels } },
      template: { metadata: { labels }, spec: measuredPodSpec(GRACE_SECONDS) },
    },
  };
}
