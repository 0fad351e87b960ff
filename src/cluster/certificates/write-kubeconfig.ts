import { dirname } from 'node:path';
import { makeFolder } from '#base/fs/make-folder.js';
import { writeWhole } from '#base/fs/whole-file.js';
import { type Kubeconfig } from '../client/kubeconfig.js';

/**
 * Writes a kubeconfig for the cluster of another one, whose user shows what lies in `pairFile`, for its owner's eyes alone. In
 * the form in which a kubelet leaves it, so that either can go on where the other stopped.
 */
export async function writeKubeconfig(
  file: string,
  { server, authority, serverName, proxyUrl, insecure }: Omit<Kubeconfig, 'user'>,
  pairFile: string,
): Promise<void> {
  const cluster = {
    ...(authority !== undefined &&
      ('file' in authority
        ? { 'certificate-authority': authority.file }
        : { 'certificate-authority-data': Buffer.from(authority.text, 'latin1').toString('base64') })),
    ...(insecure && { 'insecure-skip-tls-verify': true }),
    server,
    ...(serverName !== undefined && { 'tls-server-name': serverName }),
    ...(proxyUrl !== undefined && { 'proxy-url': proxyUrl }),
  };
  // What JSON quotes is a scalar of YAML, too.
  const fields = (entries: object, indent: string): string =>
    Object.entries(entries)
      .map(([name, value]) => `${indent}${name}: ${JSON.stringify(value)}\n`)
      .join('');
  const text = [
    'apiVersion: v1\nkind: Config\nclusters:\n- name: default-cluster\n  cluster:\n',
    fields(cluster, '    '),
    'users:\n- name: default-auth\n  user:\n',
    fields({ 'client-certificate': pairFile, 'client-key': pairFile }, '    '),
    'contexts:\n- name: default-context\n  context:\n',
    fields({ cluster: 'default-cluster', namespace: 'default', user: 'default-auth' }, '    '),
    'current-context: default-context\n',
  ].join('');
  await makeFolder(dirname(file));
  await writeWhole(file, text);
}
