import { join } from 'node:path';
import { BATCHES_FOLDER, type GivenAgentOptions, USUAL_ROOT_DIR } from '#node';
import { ownRootDir } from './own-root-dir.js';

/** Variables of the environment by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

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
