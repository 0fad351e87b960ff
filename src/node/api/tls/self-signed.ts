import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type * as Maker from './make-certificate.js';
import type { CertificatePair } from './make-certificate.js';

/** Requirements for a self-signed certificate. */
export interface SelfSignedOptions {
  /** Names and addresses of the server; the first is the common name. */
  readonly hosts: readonly string[];
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

const DAY_MS = 24 * 60 * 60 * 1_000;
const VALID_MS = 365 * DAY_MS;
/** Clients' clocks may be behind. */
const BACKDATED_MS = DAY_MS;
/** The remaining time at which a new one is created. */
const RENEWED_BEFORE_MS = 60 * DAY_MS;

/**
 * Creates self-signed certificates: clients accept them without a check (`curl -k`), or are told to trust
 * them.
 */
export class SelfSigner {
  #maker: Promise<typeof Maker> | undefined;

  /**
   * Loads what {@link make} needs, as that may be much later, when an upgrade of the package has removed the
   * file.
   *
   * Rejects when it is already gone, and can be retried.
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
    // Most starts find a certificate on disk and need none of this. Node checks for the file even if the module
    // is loaded, so the module is stored here.
    this.#maker ??= import('./make-certificate.js');
    try {
      return await this.#maker;
    } catch (error) {
      this.#maker = undefined;
      throw error;
    }
  }
}

/** Whether a self-signed certificate has to be replaced: it expires soon, or lacks a name. */
export function isOutworn(cert: string, { hosts, nowMs }: SelfSignedOptions): boolean {
  const certificate = new X509Certificate(cert);
  const endsAtMs = Date.parse(certificate.validTo);
  if (nowMs < Date.parse(certificate.validFrom) || endsAtMs - nowMs < RENEWED_BEFORE_MS) return true;
  return hosts.some((host) => {
    const found = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host);
    return found === undefined;
  });
}

/** The addresses of a certificate that the next one should have as well; none if it expires soon. */
export function addressesToKeep(cert: string, nowMs: number): string[] {
  if (isOutworn(cert, { hosts: [], nowMs })) return [];
  const { subjectAltName = '' } = new X509Certificate(cert);
  return [...subjectAltName.matchAll(/IP Address:([\da-fA-F.:]+)/g)].map(([, address]) => address!);
}
