import { type KeyObject } from 'node:crypto';
import { abortable } from '#base/async/abortable.js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { type Logger } from '#base/log/logger.js';
import { isAnswer, type KubeClient } from '../client/kube-client.js';
import { type CertificateSigningRequest } from '../client/kube-objects.js';
import { Reflector } from '../watch/reflector.js';
import { isOfKey } from './node-certificate.js';
import { makeSigningRequest, nameSigningRequest, type SigningOrder } from './signing-request.js';

/** What {@link obtainCertificate} needs. */
export interface ObtainOptions {
  readonly client: KubeClient;
  readonly order: SigningOrder;
  /** A private key on P-256 that is on the disk already. */
  readonly key: KeyObject;
  /** How long approval and signature may take. */
  readonly limitMs: number;
  /** The request is there, by this name. */
  readonly onAsked?: (request: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** This request leads to nothing, whoever waits for it: another key and another request may. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';
}

const PATH = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const FIRST_WORD_MS = 10_000;
const MAX_SILENCE_MS = 5 * 60_000;

/**
 * Asks an API server for a certificate and waits until it is there: in PEM, those that vouch for it behind it.
 *
 * Its name follows from the key and the order, so that what was asked for before is waited for and not asked for twice.
 * Rejects with {@link RequestRefused}, with what else went wrong, when it takes too long, and with the signal's reason.
 */
export async function obtainCertificate(options: ObtainOptions, signal: AbortSignal): Promise<string> {
  const { order, key, logger } = options;
  const name = nameSigningRequest(order, key);
  const isNew = await ask(options, name, signal);
  const { signerName: signer } = order;
  logger.info(isNew ? 'Asked for a certificate' : 'Taking up the request for a certificate from before', {
    ...{ request: name, signer },
  });
  options.onAsked?.(name);
  const cert = await untilIssued(options, name, signal);
  if (!isOfKey(cert, key))
    throw new RequestRefused(`the certificate of ${name} is for the key of somebody else`);
  return cert;
}

/** Whether there was no such request yet. */
async function ask(
  { client, order, key }: ObtainOptions,
  name: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { signerName, usages, subject } = order;
  const request = Buffer.from(makeSigningRequest(subject, key)).toString('base64');
  const body = {
    ...{ apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest', metadata: { name } },
    spec: { request, signerName, usages },
  };
  try {
    await client.request({ method: 'POST', path: PATH, body, signal });
    return true;
  } catch (error) {
    if (isAnswer(error, 409)) return false;
    throw error;
  }
}

async function untilIssued(options: ObtainOptions, name: string, signal: AbortSignal): Promise<string> {
  const { client, clock, logger, limitMs } = options;
  const link = linkAbort(signal);
  const talk = new Progress(options, name);
  const late = clock.setTimer(limitMs, () => {
    link.abort(new Error(`${name} was neither approved nor denied within ${formatGoDuration(limitMs)}`));
  });
  try {
    return await abortable(
      new Promise<string>((resolve, reject) => {
        let wasSeen = false;
        const gone = (): void => reject(new Error(`${name} was deleted before it was answered`));
        const look = (request: CertificateSigningRequest): void => {
          wasSeen = true;
          const answer = readAnswer(request);
          if (answer.kind === 'issued') resolve(answer.cert);
          if (answer.kind === 'refused') reject(new RequestRefused(`${name} ${answer.why}`));
          talk.isApproved = answer.kind === 'approved';
        };
        const reflector = new Reflector<CertificateSigningRequest>({
          ...{ client, clock, logger, name, path: PATH },
          sink: {
            replace: ([request]) => {
              // A list may be older than the request.
              if (request !== undefined) look(request);
              else if (wasSeen) gone();
            },
            upsert: look,
            delete: gone,
          },
        });
        void reflector.run(link.signal);
      }),
      link.signal,
    );
  } finally {
    late.cancel();
    talk.end();
    link.abort(new Error('nobody waits for it any more'));
    link.unlink();
  }
}

type RequestAnswer =
  | { readonly kind: 'waiting' | 'approved' }
  | { readonly kind: 'issued'; readonly cert: string }
  | { readonly kind: 'refused'; readonly why: string };

function readAnswer({ status = {} }: CertificateSigningRequest): RequestAnswer {
  const { certificate = '', conditions = [] } = status;
  const find = (type: string) => conditions.find((each) => each.type === type && each.status !== 'False');
  for (const [type, words] of [
    ['Denied', 'was denied'],
    ['Failed', 'cannot be signed'],
  ] as const) {
    const found = find(type);
    if (found === undefined) continue;
    const why = [found.reason, found.message].filter((each) => each !== undefined && each !== '').join(': ');
    return { kind: 'refused', why: why === '' ? words : `${words}: ${why}` };
  }
  if (certificate !== '')
    return { kind: 'issued', cert: Buffer.from(certificate, 'base64').toString('latin1') };
  return { kind: find('Approved') === undefined ? 'waiting' : 'approved' };
}

/** Says now and then that somebody is waited for, and who could do something about it. */
class Progress {
  isApproved = false;
  readonly #options: ObtainOptions;
  readonly #name: string;
  readonly #sinceMs: number;
  #timer: ClockTimer | undefined;

  constructor(options: ObtainOptions, name: string) {
    this.#options = options;
    this.#name = name;
    this.#sinceMs = options.clock.monotonicMs();
    this.#arm(FIRST_WORD_MS);
  }

  end(): void {
    this.#timer?.cancel();
  }

  #arm(delayMs: number): void {
    const { clock, logger, order } = this.#options;
    this.#timer = clock.setTimer(delayMs, () => {
      const waited = formatGoDuration(Math.round((clock.monotonicMs() - this.#sinceMs) / 1_000) * 1_000);
      const message = this.isApproved
        ? 'Request for a certificate is approved and waits for its signer'
        : 'Request for a certificate waits for approval';
      logger.info(message, {
        ...{ request: this.#name, signer: order.signerName, waited },
        ...(!this.isApproved && { remedy: `kubectl certificate approve ${this.#name}` }),
      });
      this.#arm(Math.min(delayMs * 3, MAX_SILENCE_MS));
    });
  }
}
