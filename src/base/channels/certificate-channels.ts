import { definePublishingChannel } from './publishing-channel.js';

/** The certificates of the agent's TLS port; times are in milliseconds since the epoch. */
export interface CertificatesRead {
  /** When the server certificate expires. */
  readonly serverEndsAtMs: number;
  /** When the first of the clients' authorities expires; undefined if there is none. */
  readonly clientAuthorityEndsAtMs: number | undefined;
}

/** See {@link CertificatesRead}: at the start, and when one of them was replaced. */
export const certificatesRead = definePublishingChannel<CertificatesRead>('podloop:agent:certificates:read');

/** How a certificate that the cluster signs for a node is used. */
export type NodeCertificateUse = 'client' | 'server';

/** A certificate that a cluster's node has and renews; times are in milliseconds since the epoch. */
export interface NodeCertificateHeld {
  readonly use: NodeCertificateUse;
  readonly endsAtMs: number;
  /** From when on its renewal is requested. */
  readonly renewedFromMs: number;
  /** The age of the certificate that it replaced; undefined if it replaced none. */
  readonly replacedAgeMs?: number;
}

/** See {@link NodeCertificateHeld}: at the start, and for each new certificate. */
export const nodeCertificateHeld = definePublishingChannel<NodeCertificateHeld>(
  'podloop:cluster:certificate:held',
);

/** An attempt to get a certificate has failed. */
export const nodeCertificateFailed = definePublishingChannel<{ readonly use: NodeCertificateUse }>(
  'podloop:cluster:certificate:failed',
);
