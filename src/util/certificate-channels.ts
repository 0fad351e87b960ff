import { definePublishingChannel } from './channels.js';

/** The certificates that the agent's port with TLS goes by; in milliseconds since the epoch. */
export interface CertificatesRead {
  /** When what the server shows ends. */
  readonly serverEndsAtMs: number;
  /** When the first of the authorities of clients ends; undefined when there is none. */
  readonly clientAuthorityEndsAtMs: number | undefined;
}

/** See {@link CertificatesRead}: at the start, and when one of them was replaced. */
export const certificatesRead = definePublishingChannel<CertificatesRead>('podloop:agent:certificates:read');
