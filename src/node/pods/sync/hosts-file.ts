import { readFile } from 'node:fs/promises';
import { type HostAlias } from '#kube/pod/pod.js';
import { type PodHostNames } from '../../runtime/config/pod-hostname.js';
import { type PodPaths } from '#watch';

import { writeInPlace } from './write-in-place.js';

const LOCAL = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

/** The contents of a pod's /etc/hosts. */
export interface HostsFileFacts {
  readonly ips: readonly string[];
  readonly names: PodHostNames;
  readonly aliases: readonly HostAlias[];
}

/**
 * The /etc/hosts of a pod with a network of its own: this machine, the pod's own names, then its hostAliases.
 * Pure.
 *
 * It matches the kubelet's line by line.
 *
 * Source: https://kubernetes.io/docs/tasks/network/customize-hosts-file-for-pods/
 */
export function formatHostsFile({ ips, names, aliases }: HostsFileFacts): string {
  const { short, domain } = names;
  const own = domain === '' ? [short] : [`${short}.${domain}`, short];
  const lines = [
    '# Kubernetes-managed hosts file.',
    ...LOCAL,
    ...ips.map((ip) => [ip, ...own].join('\t')),
    ...formatAliases(aliases),
  ];
  return `${lines.join('\n')}\n`;
}

/** The /etc/hosts of a pod on the node's network: the node's own, then its hostAliases. Pure. */
export function formatNodeHostsFile(ofNode: string, aliases: readonly HostAlias[]): string {
  const added = formatAliases(aliases).map((line) => `${line}\n`);
  // Without a final newline the last line would swallow the first added one.
  const end = ofNode === '' || ofNode.endsWith('\n') || added.length === 0 ? '' : '\n';
  return `# Kubernetes-managed hosts file (host network).\n${ofNode}${end}${added.join('')}`;
}

function formatAliases(aliases: readonly HostAlias[]): string[] {
  if (aliases.length === 0) return [];
  const lines = aliases.map(({ ip, hostnames = [] }) => [ip, ...hostnames].join('\t'));
  return ['', '# Entries added by HostAliases.', ...lines];
}

/** The node's own /etc/hosts; empty where it has none. */
export async function readNodeHosts(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}

/**
 * Writes the pod's /etc/hosts and returns its path.
 *
 * Containers may change the file between writes; it is restored before each start of a container.
 */
export async function writeHostsFile(paths: PodPaths, uid: string, text: string): Promise<string> {
  const path = paths.hostsFile(uid);
  await writeInPlace(path, text, 0o644);
  return path;
}
