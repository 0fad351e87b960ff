import {
  type AgentOptions,
  type GivenAgentOptions,
  type KubeletConfig,
  nameBatch,
  resolveAgentOptions,
} from '#node';
import { type Environment, machineDefaults } from '../../shared/machine-defaults.js';

/** Resolves the options of `podloop run`. A batch without --root-dir gets its own below the default one. */
export async function resolveRunOptions(
  given: GivenAgentOptions,
  config: KubeletConfig,
  env: Environment,
  uid?: number,
): Promise<AgentOptions> {
  const options = resolveAgentOptions(given, config, machineDefaults(env, uid));
  const isBatch = (options.exitWhenDone || options.stopPods) && options.kubeconfig === '';
  const batch = isBatch ? await nameBatch(options) : '';
  return batch === '' ? options : resolveAgentOptions(given, config, machineDefaults(env, uid, batch));
}
