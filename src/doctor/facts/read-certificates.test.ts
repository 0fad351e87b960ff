import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { HostFiles } from './host-files.js';
import { readCertificates } from './read-certificates.js';

/** A certificate that nobody can use: its key was never stored. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBtTCCAVugAwIBAgIUXaD8hZWBNrAFSHHnRJhimCZ+2wkwCgYIKoZIzj0EAwIw
MDEVMBMGA1UECgwMc3lzdGVtOm5vZGVzMRcwFQYDVQQDDA5zeXN0ZW06bm9kZTpu
MTAeFw0yNjExMjIxNDQ2MzFaFw0yNjEyMjIxNDQ2MzFaMDAxFTATBgNVBAoMDHN5
c3RlbTpub2RlczEXMBUGA1UEAwwOc3lzdGVtOm5vZGU6bjEwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAAQct7ANauXCnDWPEh+7xt8faGu+2ccA4Rz6T3iSlXNx8Lq8
TebpkaadvFUDRemSP5LOFsNtPtmkbHnuyDVprbpKo1MwUTAdBgNVHQ4EFgQUAUyx
RS9P1PleYYOM/fugXWz4zz0wHwYDVR0jBBgwFoAUAUyxRS9P1PleYYOM/fugXWz4
zz0wDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEA3ArCbpBUK539
MB+0DUmCegW0gTxY5GzfJKtYCFMwA9kCIDsP6qS8iAAnaPXo+IheHpQQPnwH+S2v
8C0dmZqD9VjJ
-----END CERTIFICATE-----
`;

it('reads the first certificate of each file, with its time, and passes over what was rotated out or is none', async () => {
  const root = await mkdtemp(join(tmpdir(), 'podloop-doctor-'));
  try {
    await mkdir(join(root, 'pki'));
    const write = (name: string, text: string): Promise<void> => writeFile(join(root, 'pki', name), text);
    await write('kubelet-client-current.pem', `some key\n${CERTIFICATE}${CERTIFICATE}`);
    await write('kubelet-client-2026-01-31-10-00-00.pem', CERTIFICATE);
    await write('kubelet.crt', '-----BEGIN CERTIFICATE-----\nbroken\n-----END CERTIFICATE-----\n');
    await write('kubelet.key', CERTIFICATE);
    const files = new HostFiles({ root, clock: new SystemClock(), signal: new AbortController().signal });
    expect(await readCertificates(files, ['/pki', '/nowhere'])).toEqual({
      certificates: [
        {
          path: '/pki/kubelet-client-current.pem',
          subject: 'O=system:nodes, CN=system:node:n1',
          fromMs: Date.parse('2026-11-22T14:46:31Z'),
          toMs: Date.parse('2026-12-22T14:46:31Z'),
        },
      ],
      certificatesUnread: [],
    });
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});

it('follows the links of a machine whose root is mounted elsewhere, and says what it could not read', async () => {
  const root = await mkdtemp(join(tmpdir(), 'podloop-doctor-'));
  try {
    await mkdir(join(root, 'disk/pki'), { recursive: true });
    await symlink('/disk', join(root, 'var'));
    await writeFile(join(root, 'disk/pki/kubelet-client-2026-01-31-10-00-00.pem'), CERTIFICATE);
    // As a kubelet makes it: with the whole path.
    const target = '/var/pki/kubelet-client-2026-01-31-10-00-00.pem';
    await symlink(target, join(root, 'disk/pki/kubelet-client-current.pem'));
    await symlink('/../../etc/passwd', join(root, 'disk/pki/out.pem'));
    await symlink('loop.pem', join(root, 'disk/pki/loop.pem'));
    await writeFile(join(root, 'file'), '');
    const files = new HostFiles({ root, clock: new SystemClock(), signal: new AbortController().signal });
    const { certificates, certificatesUnread } = await readCertificates(files, ['/var/pki', '/file']);
    expect(certificates).toMatchObject([{ path: '/var/pki/kubelet-client-current.pem' }]);
    expect(certificatesUnread.map(({ path }) => path)).toEqual([
      ...['/var/pki/loop.pem', '/var/pki/out.pem', '/file'],
    ]);
    expect(certificatesUnread[0]!.why).toContain('too many links');
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});

it('reads the certificates inside of kubeconfigs, as kubeadm writes them', async () => {
  const root = await mkdtemp(join(tmpdir(), 'podloop-doctor-'));
  try {
    await mkdir(join(root, 'etc'));
    const inline = (data: string): string =>
      `users:\n- name: admin\n  user:\n    client-certificate-data: ${data}\n    client-key-data: QUJD\n`;
    const base64 = Buffer.from(CERTIFICATE).toString('base64');
    await writeFile(join(root, 'etc/admin.conf'), inline(base64));
    await writeFile(join(root, 'etc/two.conf'), inline(`"${base64}"`) + inline(base64));
    await writeFile(join(root, 'etc/broken.conf'), inline('QUJD'));
    await writeFile(join(root, 'etc/kubelet.conf'), 'users:\n- user:\n    client-certificate: /x.pem\n');
    const files = new HostFiles({ root, clock: new SystemClock(), signal: new AbortController().signal });
    const { certificates, certificatesUnread } = await readCertificates(files, ['/etc']);
    expect(certificates.map(({ path }) => path)).toEqual([
      ...['/etc/admin.conf', '/etc/two.conf', '/etc/two.conf'],
    ]);
    expect(certificatesUnread).toEqual([]);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});
