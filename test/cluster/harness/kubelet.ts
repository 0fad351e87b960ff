import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { askPort, findFreePort } from '../../../src/testing/tcp-client.js';
import { kubeletConfig } from '../../containerd/harness/kubelet-config.js';
import { type ClusterAgent } from './cluster-agent.js';
import { Component } from './component.js';

/** What {@link startKubelet} takes. */
export interface KubeletOptions {
  /** The program. */
  readonly kubelet: string;
  /** The kubelet is the node that this agent is to be, with the same folders, and comes before it. */
  readonly agent: ClusterAgent;
  readonly endpoint: string;
  readonly nodeIp: string;
}

/** Starts a real kubelet. */
export async function startKubelet({ kubelet, agent, endpoint, nodeIp }: KubeletOptions): Promise<Component> {
  const [port, healthzPort] = [await findFreePort(), await findFreePort()];
  const { manifests, podLogsDir } = agent;
  const config = {
    ...kubeletConfig({ endpoint, port, manifests, podLogsDir }),
    ...{ healthzPort, healthzBindAddress: '127.0.0.1', fileCheckFrequency: '1s' },
  };
  const configFile = join(agent.folder, 'kubelet.json');
  await writeFile(configFile, JSON.stringify(config));
  const component = new Component({
    ...{ name: 'kubelet', program: kubelet, logFile: join(agent.folder, 'kubelet.log') },
    args: [
      ...['--config', configFile, '--kubeconfig', agent.kubeconfig, '--hostname-override', agent.nodeName],
      ...['--root-dir', agent.rootDir, '--cert-dir', join(agent.folder, 'pki'), '--node-ip', nodeIp, '--v=2'],
    ],
    isReady: async () => (await askPort(healthzPort, '/healthz', {})).code === 200,
  });
  await component.start();
  return component;
}
