import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Option } from 'commander';
import { EMBEDDED_RUNTIME } from '#node';
import { PodloopError } from '#base/errors/errors.js';

/** What `--runtime-endpoint` says of itself where the runtime may be left to podloop. */
export const RUNTIME_ENDPOINT_HELP =
  'Socket of the container runtime, as unix:///path, or "embedded" (default: the runtime of podloop’s own agent, else the one on this machine)';

/** The kubelet's name of `--runtime-endpoint`; it conflicts with that flag and with `others`. */
export function kubeletsEndpointOption(...others: readonly string[]): Option {
  const option = new Option('--container-runtime-endpoint <endpoint>', 'The same as --runtime-endpoint');
  return option.conflicts(['runtimeEndpoint', ...others]);
}

/** The default sockets of an embedded runtime: the first for root, the one in the runtime folder for others. */
export function embeddedSocketPaths(env: Readonly<Record<string, string | undefined>>): string[] {
  const own = env['XDG_RUNTIME_DIR'];
  return ['/run/podloop/cri.sock', ...(own === undefined ? [] : [join(own, 'podloop', 'cri.sock')])];
}

/** The first of these paths that is a socket. */
export async function findSocket(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const found = await stat(path).catch(() => undefined);
    if (found?.isSocket() === true) return path;
  }
  return undefined;
}

/**
 * The endpoint that the flag means: `embedded` becomes the socket of the embedded runtime that runs on this machine,
 * and no flag the empty text: the runtime is to be found.
 */
export async function resolveRuntimeEndpoint(
  flag: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  if (flag !== EMBEDDED_RUNTIME) return flag ?? '';
  const paths = embeddedSocketPaths(env);
  const found = await findSocket(paths);
  if (found !== undefined) return `unix://${found}`;
  throw new PodloopError(
    'ENDPOINT_NOT_FOUND',
    `no embedded runtime runs here: there is no socket at ${paths.join(' or ')}; start one with "podloop runtime", or name its socket`,
  );
}
