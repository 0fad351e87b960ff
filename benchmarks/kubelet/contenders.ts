import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { findFreePort } from '../../src/testing/tcp-client.js';
import { type HealthAddress } from '../agents/is-healthy.js';
import { NODE_NAME } from './bench-node.js';

/** Where an agent finds its work, and what is its own. */
export interface AgentPlace {
  readonly endpoint: string;
  /** Holds its manifests in `manifests`, and whatever it writes. */
  readonly folder: string;
}

/** How to start an agent, and whom to ask whether it is well. */
export interface AgentCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly health: HealthAddress;
}

/** One of those that are held against one another. */
export interface Contender {
  readonly name: string;
  prepare(place: AgentPlace): Promise<AgentCommand>;
}

const MAX_PODS = 600;

/** podloop as it is unless told, and the kubelet with both of its generators. */
export function createContenders(kubelet: string): readonly Contender[] {
  return [
    { name: 'podloop', prepare: preparePodloop },
    { name: 'kubelet', prepare: (place) => prepareKubelet(kubelet, place, false) },
    { name: 'kubelet, events on', prepare: (place) => prepareKubelet(kubelet, place, true) },
  ];
}

async function preparePodloop({ endpoint, folder }: AgentPlace): Promise<AgentCommand> {
  await mkdir(path.join(folder, 'manifests'), { recursive: true });
  return {
    file: process.execPath,
    args: [
      ...[path.resolve('dist/cli/main.js'), 'run', path.join(folder, 'manifests')],
      ...['--runtime-endpoint', endpoint, '--node-name', NODE_NAME, '--max-pods', String(MAX_PODS)],
      ...['--root-dir', path.join(folder, 'root'), '--pod-logs-dir', path.join(folder, 'logs')],
      ...['--read-only-port', '0', '-v', '2'],
    ],
    health: { socketPath: path.join(folder, 'root', 'podloop.sock') },
  };
}

/** As it can run on one machine without a cluster and without a cgroup tree of its own. */
async function prepareKubelet(
  file: string,
  { endpoint, folder }: AgentPlace,
  events: boolean,
): Promise<AgentCommand> {
  await mkdir(path.join(folder, 'manifests'), { recursive: true });
  const [port, readOnlyPort] = [await findFreePort(), await findFreePort()];
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    ...{ address: '127.0.0.1', port, readOnlyPort, healthzPort: 0, maxPods: MAX_PODS },
    authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    ...{ containerRuntimeEndpoint: endpoint, cgroupDriver: 'cgroupfs', cgroupsPerQOS: false },
    ...{ enforceNodeAllocatable: [], evictionHard: {}, localStorageCapacityIsolation: false },
    ...{ failSwapOn: false, failCgroupV1: false, oomScoreAdj: 0 },
    staticPodPath: path.join(folder, 'manifests'),
    podLogsDir: path.join(folder, 'logs'),
    featureGates: { EventedPLEG: events },
  };
  const configFile = path.join(folder, 'kubelet.json');
  await writeFile(configFile, JSON.stringify(config));
  return {
    file,
    args: [
      ...['--config', configFile, '--hostname-override', NODE_NAME, '--v=2'],
      ...['--root-dir', path.join(folder, 'root'), '--cert-dir', path.join(folder, 'pki')],
    ],
    health: { port: readOnlyPort },
  };
}
