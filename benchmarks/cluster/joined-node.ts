import { setTimeout as sleep } from 'node:timers/promises';
import { type KubeClient } from '#cluster';
import { isAnswer } from '../../src/cluster/client/kube-client.js';
import { type Node } from '../../src/cluster/client/kube-objects.js';
import { type ControlPlane } from '../../test/cluster/harness/control-plane.js';
import { isReady } from '../../test/cluster/harness/is-ready.js';
import { AgentProcess } from '../kubelet/agent-process.js';
import { BenchNode, KUBELET_RELEASE } from '../kubelet/bench-node.js';
import { type Contender } from '../kubelet/contenders.js';
import { withDeadline } from '../with-deadline.js';
import { PodWatch } from './pod-watch.js';

/** What there is while a node is part of the cluster. */
export interface JoinedNode {
  readonly node: BenchNode;
  readonly agent: AgentProcess;
  /** Somebody who may do anything. */
  readonly client: KubeClient;
  readonly pods: PodWatch;
}

const NODE_NAME = 'bench-node';
const NODE = `/api/v1/nodes/${NODE_NAME}`;
export const PODS = '/api/v1/namespaces/default/pods';
const READY_WAIT_MS = 60_000;
const POLL_MS = 50;

/** Makes an agent, on a containerd of its own, the one node of a cluster, for as long as `measure` takes. */
export async function onJoinedNode<Found>(
  plane: ControlPlane,
  contender: Contender,
  signal: AbortSignal,
  measure: (joined: JoinedNode) => Promise<Found>,
): Promise<Found> {
  const client = plane.admin;
  await using node = await BenchNode.start(KUBELET_RELEASE);
  const { endpoint, names } = node.containerd;
  const cluster = {
    kubeconfig: await plane.nodeKubeconfig(NODE_NAME),
    nodeName: NODE_NAME,
    // Of the bridge, which the containerd has for itself.
    nodeIp: `${names.subnet}.1`,
  };
  try {
    await using agent = await AgentProcess.start(
      await contender.prepare({ endpoint, folder: node.folder, cluster }),
    );
    await withDeadline('until the node is ready', READY_WAIT_MS, signal, async (within) => {
      while (!(await isOpen(client))) {
        agent.check();
        await sleep(POLL_MS, undefined, { signal: within });
      }
    });
    await using pods = new PodWatch(client);
    return await measure({ node, agent, client, pods });
  } finally {
    await removeNode(client);
  }
}

/** Ready, and without the taints that a node has until the cluster has seen that. */
async function isOpen(client: KubeClient): Promise<boolean> {
  try {
    const node = await client.request<Node>({ method: 'GET', path: NODE });
    return isReady(node) && (node.spec?.taints ?? []).length === 0;
  } catch (error) {
    if (isAnswer(error, 404)) return false;
    throw error;
  }
}

/** The next agent comes to a cluster without nodes and pods. */
async function removeNode(client: KubeClient): Promise<void> {
  const body = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 };
  await client.request({ method: 'DELETE', path: PODS, body });
  await client.request({ method: 'DELETE', path: NODE }).catch((error: unknown) => {
    if (!isAnswer(error, 404)) throw error;
  });
}
