import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type * as Maker from './make-certificate.js';
import type { CertificatePair } from './make-certificate.js';

/** What a self-signed certificate is to be good for. */
export interface SelfSignedOptions {
  /** Names and addresses under which the server is called; the first is its common name. */
  readonly hosts: readonly string[];
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

const DAY_MS = 24 * 60 * 60 * 1_000;
const VALID_MS = 365 * DAY_MS;
/** Clocks of clients may be behind ours. */
const BACKDATED_MS = DAY_MS;
/** What is left when a new one is made. */
const RENEWED_BEFORE_MS = 60 * DAY_MS;

/** Makes certificates that vouch for themselves: clients take them as they are (`curl -k`), or are given them to trust. */
export class SelfSigner {
  #maker: Promise<typeof Maker> | undefined;

  /**
   * Loads what {@link make} needs, for whoever may need it much later, when a package that was upgraded under the process has no such
   * file any more. Rejects when it is gone already; it is tried again then.
   */
  async prepare(): Promise<void> {
    await this.#load();
  }

  async make({ hosts, nowMs }: SelfSignedOptions): Promise<CertificatePair> {
    const { makeCertificate } = await this.#load();
    return makeCertificate({
      ...{ commonName: hosts[0] ?? 'podloop', hosts, purpose: 'server' },
      validFrom: new Date(nowMs - BACKDATED_MS),
      validTo: new Date(nowMs + VALID_MS),
    });
  }

  async #load(): Promise<typeof Maker> {
    // Its library is the largest of all, and most starts find a certificate on the disk. Node looks for the file even of a module that
    // it has: so that is kept here.
    this.#maker ??= import('./make-certificate.js');
    try {
      return await this.#maker;
    } catch (error) {
      this.#maker = undefined;
      throw error;
    }
  }
}

/** Whether a self-signed certificate has to be made anew: it ends soon, or has not all the names. */
export function isOutworn(cert: string, { hosts, nowMs }: SelfSignedOptions): boolean {
  const certificate = new X509Certificate(cert);
  const endsAtMs = Date.parse(certificate.validTo);
  if (nowMs < Date.parse(certificate.validFrom) || endsAtMs - nowMs < RENEWED_BEFORE_MS) return true;
  return hosts.some((host) => {
    const found = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host);
    return found === undefined;
  });
}

/** The addresses that a certificate is for and the next one is to be for as well; none of one that ends soon. */
export function addressesToKeep(cert: string, nowMs: number): string[] {
  if (isOutworn(cert, { hosts: [], nowMs })) return [];
  const { subjectAltName = '' } = new X509Certificate(cert);
  return [...subjectAltName.matchAll(/IP Address:([\da-fA-F.:]+)/g)].map(([, address]) => address!);
}
