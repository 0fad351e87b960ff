import { definePublishingChannel } from './publishing-channel.js';

/** The certificates that the agent's port with TLS goes by; in milliseconds since the epoch. */
export interface CertificatesRead {
  /** When what the server shows ends. */
  readonly serverEndsAtMs: number;
  /** When the first of the authorities of clients ends; undefined when there is none. */
  readonly clientAuthorityEndsAtMs: number | undefined;
}

/** See {@link CertificatesRead}: at the start, and when one of them was replaced. */
export const certificatesRead = definePublishingChannel<CertificatesRead>('podloop:agent:certificates:read');

/** A certificate of a node that its cluster signs: as whose client it is shown, or as which server. */
export type NodeCertificateUse = 'client' | 'server';

/** A certificate that a node of a cluster holds and renews; in milliseconds since the epoch. */
export interface NodeCertificateHeld {
  readonly use: NodeCertificateUse;
  readonly endsAtMs: number;
  /** From when on another one is asked for. */
  readonly renewedFromMs: number;
  /** How old the one was that it took the place of; undefined when there was none, or none was replaced. */
  readonly replacedAgeMs?: number;
}

/** See {@link NodeCertificateHeld}: at the start, and whenever there is another one. */
export const nodeCertificateHeld = definePublishingChannel<NodeCertificateHeld>(
  'podloop:cluster:certificate:held',
);

/** A try to get a certificate has failed. */
export const nodeCertificateFailed = definePublishingChannel<{ readonly use: NodeCertificateUse }>(
  'podloop:cluster:certificate:failed',
);
