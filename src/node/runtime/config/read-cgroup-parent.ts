import { posix } from 'node:path';
import { type CallOptions, type CriClient } from '#watch';
import { isRecord } from '#base/text/is-record.js';
import { parseJsonObject } from '#base/text/parse-json-object.js';

/**
 * The cgroup_parent of an existing sandbox, from the runtime's verbose status; rejects as the client does.
 *
 * Empty for the runtime's own choice, and where the runtime does not report it. containerd shows the
 * sandbox's whole configuration, CRI-O the group of its first process.
 */
export async function readCgroupParent(
  client: Pick<CriClient, 'podSandboxStatus'>,
  podSandboxId: string,
  { signal, pod }: Pick<CallOptions, 'signal' | 'pod'> = {},
): Promise<string> {
  const { info } = await client.podSandboxStatus({ podSandboxId, verbose: true }, { signal, pod });
  return parentInInfo(info['info'] ?? '');
}

/** Finds the parent in the text of `info`; see {@link readCgroupParent}. Pure. */
export function parentInInfo(text: string): string {
  const info = parseJsonObject(text) ?? {};
  const config = info['config'];
  if (isRecord(config)) return stringAt(config, 'linux', 'cgroup_parent');
  const path = stringAt(info, 'runtimeSpec', 'linux', 'cgroupsPath');
  // With systemd: SLICE:PREFIX:ID.
  const [slice = '', ...rest] = path.split(':');
  if (rest.length === 2) return slice;
  return path.startsWith('/') ? posix.dirname(path) : '';
}

function stringAt(from: unknown, ...names: readonly string[]): string {
  let at = from;
  for (const name of names) at = isRecord(at) ? at[name] : undefined;
  return typeof at === 'string' ? at : '';
}
