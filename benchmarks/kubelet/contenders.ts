import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { findFreePort } from '#support/clients/tcp-client.js';
import { findProgram } from '../../test/build-state.js';
import { kubeletConfig } from '../../test/containerd/harness/kubelet-config.js';
import { type HealthAddress } from '../agents/is-healthy.js';
import { NODE_NAME } from './bench-node.js';

/** Where an agent finds its work, and what is its own. */
export interface AgentPlace {
  readonly endpoint: string;
  /** Holds its manifests in `manifests`, and whatever it writes. */
  readonly folder: string;
  /** The cluster of which it is a node; without one it is on its own. */
  readonly cluster?: JoinedCluster;
}

/** What an agent needs to join a cluster. */
export interface JoinedCluster {
  readonly kubeconfig: string;
  readonly nodeName: string;
  /** An address of this machine that is not loopback. */
  readonly nodeIp: string;
}

/** How to start an agent, and whom to ask whether it is well. */
export interface AgentCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly health: HealthAddress;
  /** Its log's times are rounded down to so many milliseconds; to less than matters unless told. */
  readonly logStepMs?: number;
}

/** One of those that are held against one another. */
export interface Contender {
  readonly name: string;
  prepare(place: AgentPlace): Promise<AgentCommand>;
}

const MAX_PODS = 600;
/** The contender that is ours. */
export const PODLOOP = 'podloop';

/** podloop as it is unless told, and the kubelet with both of its generators. */
export function createContenders(kubelet: string): readonly Contender[] {
  return [
    { name: PODLOOP, prepare: preparePodloop },
    { name: 'kubelet', prepare: (place) => prepareKubelet(kubelet, place, false) },
    { name: 'kubelet, events on', prepare: (place) => prepareKubelet(kubelet, place, true) },
  ];
}

/** podloop, as it is unless told. */
export async function preparePodloop({ endpoint, folder, cluster }: AgentPlace): Promise<AgentCommand> {
  await mkdir(path.join(folder, 'manifests'), { recursive: true });
  return {
    file: process.execPath,
    args: [
      ...[findProgram(process.cwd()), 'run', path.join(folder, 'manifests')],
      ...['--runtime-endpoint', endpoint, '--node-name', cluster?.nodeName ?? NODE_NAME],
      ...['--max-pods', String(MAX_PODS)],
      ...['--root-dir', path.join(folder, 'root'), '--pod-logs-dir', path.join(folder, 'logs')],
      ...['--read-only-port', '0', '-v', '2'],
      ...(cluster === undefined
        ? []
        : [
            ...['--kubeconfig', cluster.kubeconfig, '--node-ip', cluster.nodeIp],
            // A kubelet has such a port, too.
            ...['--port', String(await findFreePort())],
          ]),
    ],
    health: { socketPath: path.join(folder, 'root', 'podloop.sock') },
    // A kubelet's log has microseconds.
    logStepMs: 1,
  };
}

async function prepareKubelet(
  file: string,
  { endpoint, folder, cluster }: AgentPlace,
  events: boolean,
): Promise<AgentCommand> {
  await mkdir(path.join(folder, 'manifests'), { recursive: true });
  const [port, readOnlyPort] = [await findFreePort(), await findFreePort()];
  const config = {
    ...kubeletConfig({
      ...{ endpoint, port, manifests: path.join(folder, 'manifests'), podLogsDir: path.join(folder, 'logs') },
    }),
    ...{ readOnlyPort, healthzPort: 0, maxPods: MAX_PODS, featureGates: { EventedPLEG: events } },
  };
  const configFile = path.join(folder, 'kubelet.json');
  await writeFile(configFile, JSON.stringify(config));
  return {
    file,
    args: [
      ...['--config', configFile, '--hostname-override', cluster?.nodeName ?? NODE_NAME, '--v=2'],
      ...['--root-dir', path.join(folder, 'root'), '--cert-dir', path.join(folder, 'pki')],
      ...(cluster === undefined ? [] : ['--kubeconfig', cluster.kubeconfig, '--node-ip', cluster.nodeIp]),
    ],
    health: { port: readOnlyPort },
  };
}
