import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SelfSigner } from '../../../src/node/api/tls/self-signed.js';
import { type Incident } from '../harness/incident.js';

const HOUR_MS = 3_600_000;
const VALID_MS = 365 * 24 * HOUR_MS;
const inline = (pem: string): string =>
  `users:\n- user:\n    client-certificate-data: ${Buffer.from(pem).toString('base64')}\n`;

const FILES: readonly (readonly [string, (pem: string) => string])[] = [
  ['kubelet-client-current.pem', (pem) => pem],
  ['admin.conf', inline],
];

/** Certificates that expired two hours and a half ago, where a kubelet and kubeadm have them. */
export const CERTIFICATE_INCIDENTS: readonly Incident[] = FILES.map(([file, toText]) => ({
  name: `the certificate in ${file} expired two hours ago`,
  pods: [{ name: 'db' }],
  make: async ({ node, atEnd }) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'podloop-certificates-'));
    const signer = new SelfSigner();
    await signer.prepare();
    const { cert } = await signer.make({ hosts: ['node'], nowMs: Date.now() - VALID_MS - 2.5 * HOUR_MS });
    await writeFile(path.join(folder, file), toText(cert));
    node.certificateFolders = [folder];
    atEnd(async () => {
      node.certificateFolders = [];
      await rm(folder, { recursive: true, force: true });
    });
    return { codes: ['CertificateExpired'], pods: [path.join(folder, file), 'expired 2 hours ago'] };
  },
}));
