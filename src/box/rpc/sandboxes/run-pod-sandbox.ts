import {
  type PodSandboxConfig,
  type RunPodSandboxRequest,
  type RunPodSandboxResponse,
} from '#watch/messages';
import { refused } from '../../rpc-error.js';
import { type RpcContext } from '../rpc-context.js';

/**
 * CRI RunPodSandbox: makes the pod's frame: its record, namespaces, cgroup and network.
 *
 * Fails without a trace when metadata is missing, the name is taken, or something is asked for that this runtime
 * cannot do.
 */
export async function runPodSandbox(
  { pods, events, isolation }: RpcContext,
  request: RunPodSandboxRequest,
  signal: AbortSignal,
): Promise<RunPodSandboxResponse> {
  const config = assertConfig(request.config);
  if (request.runtimeHandler !== '') {
    throw refused(`failed to get sandbox runtime: no runtime for "${request.runtimeHandler}" is configured`);
  }
  isolation.checkSandbox(config);
  const { id } = await pods.createSandbox(config, signal);
  events.publish('created', id, id);
  events.publish('started', id, id);
  return { podSandboxId: id };
}

function assertConfig(config: PodSandboxConfig | undefined): PodSandboxConfig {
  if (config?.metadata === undefined) throw refused('sandbox config must include metadata');
  return config;
}
