import { type ConfigObject } from '#kube/objects/config-object.js';
import { hasSameContent } from '#kube/objects/config-object-update.js';
import { type Clock } from '#base/time/clock.js';
import { linkAbort, type LinkedAbort } from '#base/async/linked-abort.js';
import { type Logger } from '#base/log/logger.js';
import { isAnswer, type KubeClient } from '../client/kube-client.js';
import { Reflector } from '../watch/reflector.js';
import {
  type ConfigObjectId,
  type KubeConfigObject,
  readKubeConfigObject,
} from './read-kube-config-object.js';

/** What a {@link WatchedObject} works with. */
export interface WatchedObjectOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly id: ConfigObjectId;
  /** What pods may see is another now; `waiting`: pods that hear of it from {@link WatchedObject.wait}. */
  readonly onChanged: (object: ConfigObject | undefined, waiting: ReadonlySet<string>) => void;
}

/** How often somebody who waits looks why nothing comes, in milliseconds. */
const LOOK_MS = 100;
/**
 * How long an answer of 403 is not believed: the API server learns which node a pod is on from the same watch as the node, and
 * perhaps later.
 */
const DOUBTED_MS = 2_000;

const RESOURCES = { ConfigMap: 'configmaps', Secret: 'secrets' } as const;

/**
 * One ConfigMap or Secret, followed by a watch of its own: all that NodeRestriction lets a node do.
 *
 * ```
 * idle ─ follow ─► looking ─ first list ─► known ◄─ changes
 *   ▲                                        │
 *   └────────────── rest ────────────────────┘   what was known stays, and nobody looks
 * ```
 *
 * It never goes back: who looks again asks for nothing older than what was known, whichever API server answers.
 */
export class WatchedObject {
  readonly #options: WatchedObjectOptions;
  #value: ConfigObject | undefined;
  #isKnown = false;
  #isCurrent = false;
  /** It is immutable, and may have been recreated. */
  #isDoubted = false;
  #following: { readonly link: LinkedAbort; readonly reflector: Reflector<KubeConfigObject> } | undefined;
  /** The version up to which it was followed; undefined before. */
  #version: string | undefined;
  readonly #waiting = new Set<() => void>();
  /** Pods that wait, each with how often. */
  readonly #waitingPods = new Map<string, number>();

  constructor(options: WatchedObjectOptions) {
    this.#options = options;
  }

  /** As of the last look; meaningless unless {@link isKnown}. */
  get value(): ConfigObject | undefined {
    return this.#value;
  }

  /** Whether the API server has ever said what it is, or that there is none. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  get isFollowed(): boolean {
    return this.#following !== undefined;
  }

  /** Whether the known state is as new as a watch can provide. */
  get isCurrent(): boolean {
    return this.#isCurrent || (this.#value?.immutable === true && !this.#isDoubted);
  }

  /** Reads an immutable one again: no event shows that it was deleted and recreated. */
  doubt(): void {
    this.#isDoubted = true;
    this.#isCurrent = false;
  }

  /** Opens the watch, unless there is one. Ends with the signal, or with {@link rest}. */
  follow(signal: AbortSignal): void {
    if (this.#following !== undefined || signal.aborted) return;
    const { client, clock, logger, id } = this.#options;
    const link = linkAbort(signal);
    // What is read once must be the newest that there is: nobody would look again.
    const since = this.#isDoubted ? '' : this.#version;
    const reflector = new Reflector<KubeConfigObject>({
      ...{ client, clock, logger, name: id.name },
      ...(since !== undefined && { since }),
      path: `/api/v1/namespaces/${encodeURIComponent(id.namespace)}/${RESOURCES[id.kind]}`,
      sink: {
        replace: ([object]) => this.#take(object),
        upsert: (object) => this.#take(object),
        delete: () => this.#take(undefined),
      },
    });
    this.#following = { link, reflector };
    void reflector.run(link.signal).finally(() => link.unlink());
  }

  /** The API server is there: the watch need not wait any longer. */
  retryNow(): void {
    this.#following?.reflector.retryNow();
  }

  /** The API server was restored: what the watch has reported may not exist any more. */
  listAgain(): void {
    this.#following?.reflector.listAgain();
  }

  /** Closes the watch; what was known stays so. */
  rest(): void {
    const { link, reflector } = this.#following ?? {};
    if (reflector?.hasSynced === true) this.#version = reflector.resourceVersion;
    link?.abort();
    this.#following = undefined;
    this.#isCurrent = false;
  }

  /** Resolves when it is current, or after `limitMs`; rejects with the signal's reason. */
  async wait(podUid: string, limitMs: number, signal: AbortSignal): Promise<void> {
    this.#waitingPods.set(podUid, (this.#waitingPods.get(podUid) ?? 0) + 1);
    try {
      await this.#untilCurrent(limitMs, signal);
    } finally {
      const others = this.#waitingPods.get(podUid)! - 1;
      if (others === 0) this.#waitingPods.delete(podUid);
      else this.#waitingPods.set(podUid, others);
    }
  }

  async #untilCurrent(limitMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    for (;;) {
      const waitedMs = clock.monotonicMs() - startedMs;
      const { reflector } = this.#following ?? {};
      if (this.isCurrent || reflector === undefined || waitedMs >= limitMs) return;
      if (waitedMs < DOUBTED_MS && isForbidden(reflector.problem)) reflector.retryNow();
      await this.#arrival(Math.min(LOOK_MS, limitMs - waitedMs), signal);
    }
  }

  /** Resolves when news has arrived, or after that long. */
  async #arrival(limitMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const settle = (): void => {
        this.#waiting.delete(settle);
        timer.cancel();
        signal.removeEventListener('abort', settle);
        if (signal.aborted) reject(signal.reason as Error);
        else resolve();
      };
      const timer = this.#options.clock.setTimer(limitMs, settle);
      signal.addEventListener('abort', settle, { once: true });
      this.#waiting.add(settle);
    });
  }

  #take(object: KubeConfigObject | undefined): void {
    const value = object === undefined ? undefined : readKubeConfigObject(object, this.#options.id);
    const isNew = !this.#isKnown || !isSame(this.#value, value);
    [this.#isKnown, this.#isCurrent, this.#isDoubted, this.#value] = [true, true, false, value];
    // It cannot change until it is created again, and then for other pods, which read it again.
    if (value?.immutable === true) this.rest();
    if (isNew) this.#options.onChanged(value, new Set(this.#waitingPods.keys()));
    for (const settle of [...this.#waiting]) settle();
  }
}

function isSame(one: ConfigObject | undefined, other: ConfigObject | undefined): boolean {
  return one === undefined || other === undefined ? one === other : hasSameContent(one, other);
}

function isForbidden(problem: Error | undefined): boolean {
  return isAnswer(problem, 403);
}
