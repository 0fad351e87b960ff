import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type KubeClient } from '../client/kube-client.js';
import { type KubeObject } from '../watch/kube-list.js';
import { type FollowedState, Reflector } from '../watch/reflector.js';
import { isSurelyOlder } from '../watch/resource-version.js';
import { type NodeObject, readNode } from './node-object.js';

/** What {@link OwnNode} needs. */
export interface OwnNodeOptions {
  readonly name: string;
  /** For the watch. */
  readonly client: KubeClient;
  /** Something about it is new, or it is gone. */
  readonly onChange: (node: NodeObject | undefined) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The Node of this machine as it was seen last: by a watch, and by the answers to our own requests, whichever is newer.
 *
 * A node has to know its labels before it can tell whether a pod may run here, and that somebody has cordoned or deleted it.
 */
export class OwnNode {
  readonly #reflector: Reflector<KubeObject>;
  readonly #options: OwnNodeOptions;
  #node: NodeObject | undefined;
  #isGone = false;

  constructor(options: OwnNodeOptions) {
    this.#options = options;
    const { name, client, clock, logger } = options;
    this.#reflector = new Reflector({
      ...{ client, clock, logger, name, path: '/api/v1/nodes' },
      // A server that lags behind may have it as it was long ago, or not yet: it would be taken for deleted.
      since: '',
      // No pod is taken before it is known.
      isUrgent: true,
      sink: {
        replace: ([item]) => {
          const node = readNode(item);
          if (item === undefined) this.lose();
          // Of a server whose data were restored the versions may be smaller than before.
          else if (node !== undefined) this.#see(node);
        },
        upsert: (item) => {
          const node = readNode(item);
          if (node !== undefined) this.take(node);
        },
        // One that was deleted and made again is another one.
        delete: ({ metadata }) => {
          if (metadata?.uid === undefined || metadata.uid === this.#node?.metadata.uid) this.lose();
        },
      },
    });
  }

  /** As it was seen last; undefined before, and when it is gone. */
  get seen(): NodeObject | undefined {
    return this.#node;
  }

  /** As it is now; undefined when that would have to be asked for. */
  get watched(): NodeObject | undefined {
    const { hasSynced, problem } = this.#reflector;
    return hasSynced && problem === undefined ? this.#node : undefined;
  }

  /** How the watch gets on. */
  get state(): FollowedState {
    return this.#reflector.state;
  }

  /** Follows it until the signal aborts; resolves then. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#reflector.run(signal);
  }

  /** The API server is there: the watch need not wait any longer. */
  retryNow(): void {
    this.#reflector.retryNow();
  }

  /** The API server was restored: what the watch has reported may not exist any more. */
  listAgain(): void {
    this.#reflector.listAgain();
  }

  /** Takes in what the API server has sent, unless something newer was seen. */
  take(node: NodeObject): void {
    if (this.#node === undefined || !isOlder(node, this.#node)) this.#see(node);
  }

  /** It is not there. */
  lose(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#node = undefined;
    this.#options.onChange(undefined);
  }

  #see(node: NodeObject): void {
    this.#node = node;
    this.#isGone = false;
    this.#options.onChange(node);
  }
}

/** Of one and the same Node. */
function isOlder({ metadata: one }: NodeObject, { metadata: other }: NodeObject): boolean {
  return one.uid === other.uid && isSurelyOlder(one.resourceVersion, other.resourceVersion);
}
