import { setTimeout as sleep } from 'node:timers/promises';
import { toMs } from '../kubelet/bench-node.js';
import { withDeadline } from '../with-deadline.js';
import { type JoinedNode, PODS } from './joined-node.js';
import { measuredPodSpec } from './measured-pod.js';

/** One pod; milliseconds from the request that made it, or deleted it. */
export interface SinglePodFigures {
  /** Until it had a node: not the agent's. */
  readonly scheduledMs: number;
  /** Until its container ran, by the runtime's record. */
  readonly startedMs: number;
  /** Until the API server told that it is Ready. */
  readonly readyMs: number;
  /** From its deletion, which takes its grace period, until the API server told that it is gone. */
  readonly goneMs: number;
}

const GRACE_SECONDS = 1;
const WAIT_MS = 60_000;

/** One pod after the other; the first only shows that everything is in place, and is not among them. */
export async function measureSinglePods(
  joined: JoinedNode,
  { count, random, signal }: { count: number; random: () => number; signal: AbortSignal },
): Promise<SinglePodFigures[]> {
  const found: SinglePodFigures[] = [];
  for (let at = 0; at <= count; at++) {
    // Whatever an agent does each second is not always as far.
    await sleep(1_000 + 1_000 * random(), undefined, { signal });
    const name = `single-${at}`;
    const figures = await withDeadline(`for pod ${name}`, WAIT_MS, signal, (within) =>
      measurePod(joined, name, within),
    );
    if (at > 0) found.push(figures);
  }
  return found;
}

async function measurePod(
  { client, pods, agent, node }: JoinedNode,
  name: string,
  signal: AbortSignal,
): Promise<SinglePodFigures> {
  const wait = { prefix: name, count: 1, check: () => agent.check(), signal };
  const body = { metadata: { name }, spec: measuredPodSpec(GRACE_SECONDS) };
  const appliedMs = Date.now();
  await client.request({ method: 'POST', path: PODS, body });
  const [pod] = await pods.until('ready', wait);
  const { startedAt } = await node.statusOf(pod!.containerId!);
  const deletedMs = Date.now();
  await client.request({ method: 'DELETE', path: `${PODS}/${name}` });
  await pods.until('gone', wait);
  return {
    scheduledMs: pod!.scheduledMs! - appliedMs,
    startedMs: toMs(startedAt) - appliedMs,
    readyMs: pod!.readyMs! - appliedMs,
    goneMs: pod!.goneMs! - deletedMs,
  };
}
