import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { askPort, findFreePort } from '#support/clients/tcp-client.js';
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
  /** Whose clients it knows, above all the API server. */
  readonly clientCAFile: string;
}

/** A kubelet that runs, and what others need of it. */
export interface StartedKubelet {
  readonly component: Component;
  readonly configFile: string;
  readonly certDir: string;
  readonly port: number;
}

/** Starts a real kubelet, that lets in whom kubeadm's would let in. */
export async function startKubelet(options: KubeletOptions): Promise<StartedKubelet> {
  const { kubelet, agent, endpoint, nodeIp, clientCAFile } = options;
  const [port, healthzPort] = [await findFreePort(), await findFreePort()];
  const { manifests, podLogsDir } = agent;
  const { address: _, ...common } = kubeletConfig({ endpoint, port, manifests, podLogsDir });
  const config = {
    ...common,
    ...{ healthzPort, healthzBindAddress: '127.0.0.1', fileCheckFrequency: '1s' },
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile } },
    authorization: { mode: 'Webhook' },
  };
  const configFile = join(agent.folder, 'kubelet.json');
  const certDir = join(agent.folder, 'pki');
  await writeFile(configFile, JSON.stringify(config));
  const component = new Component({
    ...{ name: 'kubelet', program: kubelet, logFile: join(agent.folder, 'kubelet.log') },
    args: [
      ...['--config', configFile, '--kubeconfig', agent.kubeconfig, '--hostname-override', agent.nodeName],
      ...['--root-dir', agent.rootDir, '--cert-dir', certDir, '--node-ip', nodeIp, '--v=2'],
    ],
    isReady: async () => (await askPort(healthzPort, '/healthz', {})).code === 200,
  });
  await component.start();
  return { component, configFile, certDir, port };
}
