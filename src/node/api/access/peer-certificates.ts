import { type Socket } from 'node:net';
import { type PeerCertificate, TLSSocket } from 'node:tls';
import { type ApiClient } from '../http/api-request.js';

/** A client's identity in its certificate, and how long it is valid. */
export interface ShownCertificate {
  readonly who: NonNullable<ApiClient['certificate']>;
  /** Wall-clock milliseconds. */
  readonly endsAtMs: number;
}

/** The certificates in clients' handshakes; each is parsed once. */
export class PeerCertificates {
  readonly #read = new WeakMap<Socket, ShownCertificate>();

  /** Undefined if there is none, or none that a trusted authority had signed when the connection was made. */
  find(socket: Socket): ShownCertificate | undefined {
    const known = this.#read.get(socket);
    if (known !== undefined) return known;
    if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
    // A resumed session without a certificate counts as authorized, too.
    const certificate = socket.getPeerCertificate() as Partial<PeerCertificate> | null;
    const { subject, valid_to: end } = certificate ?? {};
    if (subject === undefined || end === undefined) return undefined;
    // There may be several of each, or none.
    const { CN = '', O = [] } = subject as Partial<PeerCertificate['subject']>;
    const who = { name: [CN].flat()[0] ?? '', groups: [O].flat() };
    const endsAtMs = Date.parse(end);
    // An unreadable date is never valid.
    const shown = { who, endsAtMs: Number.isNaN(endsAtMs) ? 0 : endsAtMs };
    this.#read.set(socket, shown);
    return shown;
  }
}
