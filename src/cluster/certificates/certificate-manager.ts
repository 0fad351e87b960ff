/**
 * Keeps one certificate of a node good: as the API server's client, or as the server that it calls.
 *
 * ```
 * none, or it has ended ─┐
 * 70 to 90 % of its life ┼─► key on the disk ─► request ─► approved, signed ─► store ─► held
 * other addresses ───────┘         ▲                           │ denied: another key
 *                                  └── later, and later yet ◄──┘ late, unreachable: the same one again
 * ```
 *
 * In: whom it is to be about, as of now. Out: what is held, told through a channel. The one before goes on being held until there
 * is another, also when it has ended. Whatever an agent that was killed had asked for is waited for by the next.
 *
 * It goes by the clock on the wall, as those do who look at certificates, and looks at it again and again: a machine may
 * have slept, or been set right. One that is due as soon as it is signed, as by a clock that is ahead or by an authority that
 * is about to end, is not asked for again and again without a pause.
 *
 * Source: https://kubernetes.io/docs/tasks/tls/certificate-rotation/
 *
 * @module
 */
import { Backoff } from '#base/async/backoff.js';
import {
  nodeCertificateFailed,
  nodeCertificateHeld,
  type NodeCertificateUse,
} from '#base/channels/certificate-channels.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { type Logger } from '#base/log/logger.js';
import { Wakeup } from '#base/async/wakeup.js';
import { type KubeClient, retryAfterMsOf } from '../client/kube-client.js';
import { type NodeEvent } from '../node/node-ports.js';
import { type CertificateStore } from './certificate-store.js';
import { type CertificateSubject, isSameSubject } from './certificate-subject.js';
import { type NodeCertificate, isBetter, isFor, isOver } from './node-certificate.js';
import { obtainCertificate, RequestRefused } from './obtain-certificate.js';
import { CLIENT_ORDER, SERVING_ORDER } from './signing-request.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';

/** A way to the API server, for as long as one request takes. */
export interface RequestConnection {
  readonly client: KubeClient;
  close(): void;
}

/** What a {@link CertificateManager} needs. */
export interface CertificateManagerOptions extends Publisher {
  readonly use: NodeCertificateUse;
  /** Where new ones are put. */
  readonly store: CertificateStore;
  /** The newest one that there is on this machine; somebody else may have put it there. */
  readonly find: () => Promise<NodeCertificate | undefined>;
  /** Whom it is to be about now; undefined while nobody knows. */
  readonly subject: () => CertificateSubject | undefined;
  /** Asks for another one in time; else only when there is none that is good. */
  readonly isRotated: boolean;
  /** How to ask. `good`: what is held and has not ended. */
  readonly connect: (good: NodeCertificate | undefined) => Promise<RequestConnection>;
  /** What is held is another one, and good. Rejections are logged. */
  readonly onHeld?: (held: NodeCertificate) => Promise<void>;
  /** Takes events about the Node. */
  readonly onEvent: (event: NodeEvent) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** As client-go: when a request has not been answered by then, one looks whether it is still there. */
const ANSWER_LIMIT_MS = 15 * MINUTE;
/** How often to check the clock, the subject and the files. */
const LOOK_MS = 30 * SECOND;
/** While nobody knows whom it is to be about. */
const SUBJECT_LOOK_MS = SECOND;
const FIRST_DELAY_MS = 2 * SECOND;
const MAX_DELAY_MS = 5 * MINUTE;
/** As client-go: from 70 to 90 % of its life on, so that not all nodes come at once. */
const LEAST_SHARE = 0.7;
const SHARE_JITTER = 0.2;

/** See the module. */
export class CertificateManager {
  readonly #options: CertificateManagerOptions;
  readonly #woken = new Wakeup();
  readonly #waiting = new Set<() => void>();
  #held: NodeCertificate | undefined;
  /** The certificate that was reported as valid. */
  #told: NodeCertificate | undefined;
  #renewedFromMs = Infinity;
  /** Whom the one that is held was asked for; what its signer left out is not asked for again. */
  #askedFor: CertificateSubject | undefined;
  /** Why the last try has failed, or what it waits for. */
  #problem: string | undefined;
  /** The problem that was reported last. */
  #complaint = '';
  /** Since one came that was due at once. */
  #dueAgain: Backoff | undefined;

  constructor(options: CertificateManagerOptions) {
    this.#options = options;
  }

  /** What there is; it may have ended. */
  get held(): NodeCertificate | undefined {
    return this.#held;
  }

  /** Why there is none that is good; undefined when there is. */
  findProblem(): string | undefined {
    if (this.#good() !== undefined) return undefined;
    return this.#problem;
  }

  /** Resolves once there is a valid certificate; rejects with the signal's reason. */
  async whenGood(signal: AbortSignal): Promise<void> {
    while (this.#good() === undefined) {
      signal.throwIfAborted();
      await new Promise<void>((resolve) => {
        const settle = (): void => {
          this.#waiting.delete(settle);
          signal.removeEventListener('abort', settle);
          resolve();
        };
        this.#waiting.add(settle);
        signal.addEventListener('abort', settle, { once: true });
      });
    }
  }

  /** Takes up what lies on the disk. */
  async open(): Promise<void> {
    const found = await this.#options.find();
    const held = this.#held;
    if (found === undefined || found.cert === held?.cert) return;
    if (held === undefined || isBetter(found, held, this.#options.clock.now())) {
      await this.#take(found, undefined);
    }
  }

  /** The subject may have changed: checks at once. */
  wake(): void {
    this.#woken.wake();
  }

  /** Keeps it good until the signal aborts; resolves then. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      // Whoever counts has not been there before.
      this.#publish(undefined);
      for (;;) {
        const isRenewed = await this.#renew(await this.#untilNeeded(signal), signal);
        if (isRenewed) await this.#pauseIfDue(signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Resolves with whom another one is to be about. */
  async #untilNeeded(signal: AbortSignal): Promise<CertificateSubject> {
    const { clock, subject, isRotated } = this.#options;
    for (;;) {
      await this.open();
      await this.#notifyIfValid();
      const wanted = subject();
      if (wanted !== undefined && this.#isNeeded(wanted)) return wanted;
      const neededFromMs = isRotated ? this.#renewedFromMs : (this.#held?.toMs ?? Infinity);
      const leftMs = Math.max(SECOND, neededFromMs - clock.now());
      await this.#woken.wait(
        clock,
        Math.min(leftMs, wanted === undefined ? SUBJECT_LOOK_MS : LOOK_MS),
        signal,
      );
    }
  }

  #isNeeded(wanted: CertificateSubject): boolean {
    const good = this.#good();
    if (good === undefined || this.#isDue()) return true;
    const isAsked = this.#askedFor !== undefined && isSameSubject(this.#askedFor, wanted);
    return !isAsked && !isFor(good, wanted);
  }

  /** Whether it is time for another one, whoever it is about. */
  #isDue(): boolean {
    const { isRotated, clock } = this.#options;
    return this.#good() === undefined || (isRotated && clock.now() >= this.#renewedFromMs);
  }

  /** The longer, the more often in a row what came was due already; not at all when it is to be about somebody else. */
  async #pauseIfDue(signal: AbortSignal): Promise<void> {
    if (!this.#isDue()) {
      this.#dueAgain = undefined;
      return;
    }
    const { clock, subject, random = Math.random } = this.#options;
    if (this.#dueAgain === undefined) this.#complainOfTimes();
    this.#dueAgain ??= new Backoff({
      ...{ initialMs: FIRST_DELAY_MS, maxMs: MAX_DELAY_MS, jitter: 0.2, random },
    });
    const endsAtMs = clock.monotonicMs() + this.#dueAgain.nextMs();
    const askedFor = this.#askedFor;
    for (;;) {
      const leftMs = endsAtMs - clock.monotonicMs();
      const wanted = subject();
      const isOther = wanted !== undefined && askedFor !== undefined && !isSameSubject(wanted, askedFor);
      if (leftMs <= 0 || isOther || !this.#isDue()) return;
      await this.#woken.wait(clock, Math.min(leftMs, LOOK_MS), signal);
      await this.#notifyIfValid();
    }
  }

  /** Tries until there is another one, or none is needed any more: false then. */
  async #renew(first: CertificateSubject, signal: AbortSignal): Promise<boolean> {
    const { use, clock, logger, subject, store, random = Math.random } = this.#options;
    const backoff = new Backoff({
      ...{ initialMs: FIRST_DELAY_MS, maxMs: MAX_DELAY_MS, jitter: 0.2, random },
    });
    let wanted: CertificateSubject | undefined = first;
    while (wanted !== undefined && this.#isNeeded(wanted)) {
      try {
        if (await this.#obtain(wanted, signal)) return true;
      } catch (error) {
        signal.throwIfAborted();
        const why = describe(error);
        this.#problem = why;
        if (error instanceof RequestRefused) await store.dropPendingKey().catch(() => undefined);
        const delayMs = Math.max(backoff.nextMs(), Math.min(retryAfterMsOf(error), MAX_DELAY_MS));
        publishTo(this.#options.channels, nodeCertificateFailed, { use });
        logger.warn(`Certificate of the node as a ${use} cannot be had`, {
          ...{ err: why, retryInMs: Math.round(delayMs) },
        });
        this.#complain(why);
        await clock.sleep(delayMs, signal);
        await this.open();
        await this.#notifyIfValid();
      }
      wanted = subject();
    }
    return false;
  }

  /** False when meanwhile it is to be about somebody else. */
  async #obtain(wanted: CertificateSubject, signal: AbortSignal): Promise<boolean> {
    const { use, store, connect, clock, logger } = this.#options;
    const before = this.#held;
    const order = { ...(use === 'client' ? CLIENT_ORDER : SERVING_ORDER), subject: wanted };
    const connection = await connect(this.#good());
    const link = linkAbort(signal);
    const watching = new AbortController();
    try {
      const key = await store.pendingKey();
      void this.#isOutdated(wanted, watching.signal).then((isOutdated) => {
        if (isOutdated) link.abort(new SubjectChanged());
      });
      const { client } = connection;
      const onAsked = (request: string): void => {
        this.#problem = `not signed yet: kubectl get csr ${request} shows whether that waits for approval`;
      };
      const cert = await obtainCertificate(
        { client, order, key, limitMs: ANSWER_LIMIT_MS, onAsked, clock, logger },
        link.signal,
      );
      this.#askedFor = wanted;
      this.#complaint = '';
      await this.#take(await store.put(cert, key), before);
      return true;
    } catch (error) {
      if (error instanceof SubjectChanged) return false;
      throw error;
    } finally {
      watching.abort();
      link.unlink();
      connection.close();
    }
  }

  /** Resolves with true when it is to be about somebody else, with false when the signal aborts. */
  async #isOutdated(wanted: CertificateSubject, signal: AbortSignal): Promise<boolean> {
    const { clock, subject } = this.#options;
    for (;;) {
      try {
        await this.#woken.wait(clock, LOOK_MS, signal);
      } catch {
        return false;
      }
      // Somebody may have to approve the request by hand.
      await this.#notifyIfValid();
      const now = subject();
      if (now !== undefined && !isSameSubject(now, wanted)) return true;
    }
  }

  async #take(held: NodeCertificate, before: NodeCertificate | undefined): Promise<void> {
    const { use, clock, logger, random = Math.random } = this.#options;
    this.#held = held;
    this.#renewedFromMs = held.fromMs + (held.toMs - held.fromMs) * (LEAST_SHARE + SHARE_JITTER * random());
    logger.info(`Certificate of the node as a ${use}`, {
      ...{ name: held.name, expiration: toTime(held.toMs) },
      ...(this.#options.isRotated && { renewedFrom: toTime(this.#renewedFromMs) }),
    });
    this.#publish(before === undefined ? undefined : clock.now() - before.fromMs);
    await this.#notifyIfValid();
  }

  /** One that had ended as it was taken may be good later: by a clock that was ahead, and was set right. */
  async #notifyIfValid(): Promise<void> {
    const { use, logger, onHeld } = this.#options;
    const good = this.#good();
    if (good === undefined) return;
    if (good !== this.#told) {
      this.#told = good;
      await onHeld?.(good).catch((error: unknown) => {
        logger.error('Certificate of the node is there, and not all is done about it', error, { use });
      });
    }
    for (const settle of [...this.#waiting]) settle();
  }

  #good(): NodeCertificate | undefined {
    const held = this.#held;
    return held === undefined || isOver(held, this.#options.clock.now()) ? undefined : held;
  }

  #publish(replacedAgeMs: number | undefined): void {
    const held = this.#held;
    if (held === undefined) return;
    publishTo(this.#options.channels, nodeCertificateHeld, {
      ...{ use: this.#options.use, endsAtMs: held.toMs, renewedFromMs: this.#renewedFromMs },
      ...(replacedAgeMs !== undefined && { replacedAgeMs }),
    });
  }

  /** Once, until there is one again that is not due. */
  #complainOfTimes(): void {
    const { use, onEvent, clock } = this.#options;
    const held = this.#held;
    if (held === undefined) return;
    const life = `it is good from ${toTime(held.fromMs)} to ${toTime(held.toMs)}, and it is ${toTime(clock.now())} here`;
    const why =
      "the clock of this machine may be ahead of the signer's, or the signer's own certificate is about to end";
    const message = `Certificate of the node as a ${use} is due for renewal as soon as it is signed: ${life}; ${why}`;
    onEvent({ type: 'Warning', reason: 'CertificateDueAtOnce', message });
  }

  /** An event for each other reason. */
  #complain(why: string): void {
    if (why === this.#complaint) return;
    this.#complaint = why;
    const { use, onEvent } = this.#options;
    const held = this.#held;
    const until = held === undefined ? 'there is none yet' : `the one there is ends at ${toTime(held.toMs)}`;
    onEvent({
      ...{ type: 'Warning', reason: 'CertificateNotRenewed' },
      message: `Certificate of the node as a ${use} cannot be had (${until}): ${why}`,
    });
  }
}

/** A request that is under way is about somebody else by now. */
class SubjectChanged extends Error {}

/** Without the request itself, which some answers repeat: it is another one each time. */
function describe(error: unknown): string {
  return messageOf(error).replaceAll(/[A-Za-z0-9+/=]{100,}/g, '…');
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}
