import { readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type DNSConfig, type PodSandboxConfig } from '#watch/messages';
import { type SandboxNamespaces } from '../namespace-options.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** Files of a pod that its containers find in their /etc, unless they mount something else there. */
export const SANDBOX_FILES = ['resolv.conf', 'hosts', 'hostname'] as const;

const LOCAL_HOSTS = `127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
`;

/** Writes them into a sandbox's folder. */
export async function writeSandboxFiles(
  dir: string,
  config: PodSandboxConfig,
  namespaces: SandboxNamespaces,
): Promise<void> {
  await makeFolder(join(dir, 'etc'), 0o755);
  const host = (path: string) => readFile(path, 'utf8').catch(() => '');
  const name = namespaces.network && config.hostname !== '' ? config.hostname : hostname();
  const text = {
    'resolv.conf':
      config.dnsConfig === undefined ? await host('/etc/resolv.conf') : renderResolvConf(config.dnsConfig),
    hosts: namespaces.network ? LOCAL_HOSTS : await host('/etc/hosts'),
    hostname: `${name}\n`,
  };
  for (const file of SANDBOX_FILES) await writeFile(sandboxFilePath(dir, file), text[file], { mode: 0o644 });
}

/** Where the sandbox whose folder is `dir` has one of its files. */
export function sandboxFilePath(dir: string, file: (typeof SANDBOX_FILES)[number]): string {
  return join(dir, 'etc', file);
}

/** See resolv.conf(5). */
export function renderResolvConf({ servers, searches, options }: DNSConfig): string {
  return [
    ...(searches.length > 0 ? [`search ${searches.join(' ')}`] : []),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.length > 0 ? [`options ${options.join(' ')}`] : []),
  ]
    .map((line) => `${line}\n`)
    .join('');
}
