import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CertificatePair, makeCertificate } from '../../../src/node/api/tls/make-certificate.js';

const DAY_MS = 86_400_000;

/** The certificates and keys of one cluster, in files of one folder. */
export class ClusterKeys {
  readonly #folder: string;
  readonly #authority: CertificatePair;

  /** Makes `ca.crt`, `ca.key`, `apiserver.crt`, `apiserver.key`, `sa.key`, `sa.pub`. */
  static async make(folder: string): Promise<ClusterKeys> {
    const authority = await makeCertificate({
      commonName: 'kubernetes',
      purpose: 'authority',
      ...lifetime(),
    });
    const keys = new ClusterKeys(folder, authority);
    await keys.#write('ca', authority);
    const hosts = [
      '127.0.0.1',
      '::1',
      'localhost',
      'kubernetes',
      'kubernetes.default',
      'kubernetes.default.svc',
    ];
    const server = { commonName: 'kube-apiserver', purpose: 'server', hosts, issuer: authority } as const;
    await keys.#write('apiserver', await makeCertificate({ ...server, ...lifetime() }));
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await writeFile(keys.file('sa.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }), {
      mode: 0o600,
    });
    await writeFile(keys.file('sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
    return keys;
  }

  private constructor(folder: string, authority: CertificatePair) {
    this.#folder = folder;
    this.#authority = authority;
  }

  file(name: string): string {
    return join(this.#folder, name);
  }

  /** Who vouches for all of them. */
  get authority(): string {
    return this.#authority.cert;
  }

  /** A client's certificate and key, in `<name>.crt` and `<name>.key`; the same again for a name that is there. */
  async makeClient(name: string, user: string, group?: string): Promise<CertificatePair> {
    const pair = await makeCertificate({
      ...{ commonName: user, purpose: 'client', issuer: this.#authority, ...lifetime() },
      ...(group !== undefined && { organization: group }),
    });
    await this.#write(name, pair);
    return pair;
  }

  /** Writes `<name>.kubeconfig` for a new client; returns its path. */
  async makeKubeconfig(server: string, name: string, user: string, group?: string): Promise<string> {
    await this.makeClient(name, user, group);
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'lab' },
      clusters: [{ name: 'lab', cluster: { server, 'certificate-authority': this.file('ca.crt') } }],
      users: [
        {
          name,
          user: { 'client-certificate': this.file(`${name}.crt`), 'client-key': this.file(`${name}.key`) },
        },
      ],
      contexts: [{ name: 'lab', context: { cluster: 'lab', user: name } }],
    };
    const file = this.file(`${name}.kubeconfig`);
    await writeFile(file, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
    return file;
  }

  async #write(name: string, { cert, key }: CertificatePair): Promise<void> {
    await writeFile(this.file(`${name}.crt`), cert);
    await writeFile(this.file(`${name}.key`), key, { mode: 0o600 });
  }
}

function lifetime(): { validFrom: Date; validTo: Date } {
  return { validFrom: new Date(Date.now() - DAY_MS), validTo: new Date(Date.now() + 30 * DAY_MS) };
}
