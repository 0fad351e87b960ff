import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readKubeconfigFile } from '../client/open-kube-clients.js';
import { writeKubeconfig } from './write-kubeconfig.js';

it('writes a kubeconfig that leads to the same server by the same way as the one that it is made of', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-write-kubeconfig-'));
  const file = join(folder, 'etc', 'kubelet.conf');
  const cluster = {
    server: 'https://api.lab:6443',
    authority: { file: '/etc/ca.crt' },
    serverName: 'kubernetes',
    proxyUrl: 'http://me:p%40ss@proxy.lab:3128',
    insecure: false,
  };
  try {
    await writeKubeconfig(file, { file: '/etc/bootstrap.conf', ...cluster }, '/pki/pair.pem');
    await expect(readKubeconfigFile(file)).resolves.toEqual({
      ...cluster,
      file,
      user: { certificate: { file: '/pki/pair.pem' }, key: { file: '/pki/pair.pem' }, impersonation: {} },
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
