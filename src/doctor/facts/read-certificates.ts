import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { type HostFiles } from './host-files.js';
import { ask } from '../looked.js';

/** A certificate of the node. */
export interface CertificateFacts {
  readonly path: string;
  readonly subject: string;
  /** Milliseconds since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** Where kubelets, podloop, kubeadm, k3s and rke2 have theirs. */
export const CERTIFICATE_FOLDERS: readonly string[] = [
  ...['/var/lib/kubelet/pki', '/var/lib/podloop/pki'],
  ...['/etc/kubernetes', '/etc/kubernetes/pki', '/etc/kubernetes/pki/etcd'],
  ...['k3s', 'rke2'].flatMap((name) => [
    `/var/lib/rancher/${name}/agent`,
    `/var/lib/rancher/${name}/server/tls`,
  ]),
];

/** Client certificates inside of a kubeconfig, as kubeadm writes `admin.conf` and `kubelet.conf`. */
const INLINE = /^\s*client-certificate-data:\s*["']?([A-Za-z0-9+/=]+)/gm;
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** What was rotated out: `kubelet-client-2026-01-31-10-00-00.pem`, beside which a link names the current one. */
const ROTATED = /-\d{4}(-\d{2}){5}\.pem$/;
const MAX_FILES = 100;

/** Certificates, and what is there and could not be read. */
export interface CertificateLook {
  readonly certificates: readonly CertificateFacts[];
  readonly certificatesUnread: readonly UnreadFile[];
}

/** A file or folder that could not be read, and why. */
export interface UnreadFile {
  readonly path: string;
  readonly why: string;
}

/**
 * The first certificate of each file in these folders, as those behind it are its issuers, and those in kubeconfigs. A
 * folder may be missing.
 */
export async function readCertificates(
  files: HostFiles,
  folders: readonly string[],
): Promise<CertificateLook> {
  const certificates: CertificateFacts[] = [];
  const certificatesUnread: UnreadFile[] = [];
  for (const folder of folders) {
    const names = await ask(() => files.list(folder));
    if (!names.known) {
      if (!names.why.includes('ENOENT')) certificatesUnread.push({ path: folder, why: names.why });
      continue;
    }
    const candidates = names.value.filter(
      (name) => /\.(crt|pem|conf|kubeconfig)$/.test(name) && !ROTATED.test(name),
    );
    for (const name of candidates.sort().slice(0, MAX_FILES)) {
      const path = join(folder, name);
      const text = await ask(() => files.read(path));
      if (!text.known) {
        certificatesUnread.push({ path, why: text.why });
        continue;
      }
      for (const pem of [text.value, ...readInline(text.value)]) {
        const facts = parseCertificate(path, pem);
        if (facts !== undefined) certificates.push(facts);
      }
    }
  }
  return { certificates, certificatesUnread };
}

function readInline(kubeconfig: string): string[] {
  return [...kubeconfig.matchAll(INLINE)].map(([, base64]) =>
    Buffer.from(base64!, 'base64').toString('latin1'),
  );
}

/** Reads a file in PEM, which may hold a key too; undefined when there is no certificate in it. */
function parseCertificate(path: string, text: string): CertificateFacts | undefined {
  try {
    const [first] = text.match(PEM) ?? [];
    if (first === undefined) return undefined;
    const certificate = new X509Certificate(first);
    return {
      ...{ path, subject: certificate.subject.replaceAll('\n', ', ') },
      fromMs: Date.parse(certificate.validFrom),
      toMs: Date.parse(certificate.validTo),
    };
  } catch {
    return undefined;
  }
}
