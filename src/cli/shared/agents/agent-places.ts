import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { hasSameManifests, nameBatch, readManifestPlaces, SOCKET_NAME } from '#node';
import { readListening } from '../api/agent-socket.js';
import { quoteWord } from '../print/quote-word.js';
import { type Environment, machineDefaults } from '../machine-defaults.js';

/** The options that place an agent of a folder of manifests that runs in the background. */
export interface AgentPlace {
  readonly rootDir: string;
  /** Undefined for the default one. */
  readonly podLogsDir?: string;
}

/**
 * Where the agent of a folder of manifests works: in the default root folder, unless that has other manifests; then in
 * one of its own below it.
 */
export async function chooseAgentPlace(folder: string, env: Environment, uid?: number): Promise<AgentPlace> {
  const { rootDir: usual = '', podLogsDir } = machineDefaults(env, uid);
  const sources = { podManifestPath: folder, manifestUrl: '' };
  const { rootDir: own = '', podLogsDir: ownLogs } = machineDefaults(env, uid, await nameBatch(sources));
  const place = (rootDir: string, logs: string | undefined): AgentPlace => ({
    rootDir,
    ...(logs === undefined ? {} : { podLogsDir: logs }),
  });
  if (await hasSameManifests(usual, sources)) return place(usual, podLogsDir);
  // The node of a cluster has no manifests to record.
  const isTaken = readListening()?.has(join(usual, SOCKET_NAME)) ?? existsSync(join(usual, SOCKET_NAME));
  const isFree = !isTaken && !existsSync(own) && (await readManifestPlaces(usual)).length === 0;
  return isFree ? place(usual, podLogsDir) : place(own, ownLogs);
}

/** The command that ends the pods of a folder of manifests, as a person types it. */
export function howToEnd(
  folder: string,
  flags: { readonly rootDir?: string | undefined; readonly runtimeEndpoint?: string | undefined } = {},
): string {
  const { rootDir, runtimeEndpoint } = flags;
  return [
    `podloop down ${quoteWord(folder)}`,
    ...(rootDir === undefined ? [] : [`--root-dir ${quoteWord(rootDir)}`]),
    ...(runtimeEndpoint === undefined ? [] : [`--runtime-endpoint ${quoteWord(runtimeEndpoint)}`]),
  ].join(' ');
}
