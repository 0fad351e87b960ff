import { join } from 'node:path';
import {
  type AgentOptions,
  BATCHES_FOLDER,
  type GivenAgentOptions,
  type KubeletConfig,
  nameBatch,
  resolveAgentOptions,
  USUAL_ROOT_DIR,
} from '#node';
import { ownRootDir } from '../../shared/own-root-dir.js';

type Environment = Readonly<Record<string, string | undefined>>;

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

/** Users other than root get their own folders. */
export function machineDefaults(
  env: Environment,
  uid = process.getuid?.() ?? 0,
  batch?: string,
): GivenAgentOptions {
  const usual = uid === 0 ? USUAL_ROOT_DIR : ownRootDir(env);
  const rootDir = batch === undefined ? usual : join(usual, BATCHES_FOLDER, batch);
  return uid === 0 ? { rootDir } : { rootDir, podLogsDir: join(rootDir, 'logs') };
}
