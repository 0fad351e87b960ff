import { Backoff } from '../../util/backoff.js';
import { type Clock } from '../../util/clock.js';
import { messageOf } from '../../util/errors.js';
import { type Logger } from '../../util/logger.js';
import { isAnswer } from '../client/kube-client.js';
import { adoptNode, findUnheeded } from './compute-initial-node.js';
import { askedDelayMs, isGone, isThereAlready, type NodeApi } from './node-api.js';
import { type NodeObject } from './node-object.js';
import { isPodloopVersion } from './node-settings.js';
import { diffNodes } from './node-status-patch.js';

/** What {@link registerNode} needs. */
export interface RegistrationOptions {
  readonly api: NodeApi;
  readonly name: string;
  /** Whether to create the Node; else somebody else has to. */
  readonly register: boolean;
  /** As it would be created now. */
  readonly computeInitial: () => NodeObject;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told of each try that failed. */
  readonly onFailure?: (error: unknown) => void;
}

/** The Node that there is now. */
export interface Registration {
  readonly node: NodeObject;
  /** It was created, and not there before. */
  readonly isNew: boolean;
  /** It was there before, and a kubelet on this very machine kept it until we came. */
  readonly isOfKubeletHere: boolean;
}

const FIRST_DELAY_MS = 100;
/** The kubelet's. */
const LONGEST_DELAY_MS = 7_000;

/**
 * Creates the Node or takes up the one of that name, again and again until it is there: at once, then after 100 ms
 * doubling to 7 s. Rejects only with the signal's reason.
 */
export async function registerNode(options: RegistrationOptions, signal: AbortSignal): Promise<Registration> {
  const { clock, onFailure } = options;
  const backoff = new Backoff({ initialMs: FIRST_DELAY_MS, maxMs: LONGEST_DELAY_MS });
  const outage = new Outage(options.logger);
  if (options.register) options.logger.info('Attempting to register node', { node: { name: options.name } });
  for (;;) {
    try {
      const registration = await tryOnce(options, signal);
      outage.end();
      return registration;
    } catch (error) {
      signal.throwIfAborted();
      onFailure?.(error);
      outage.tell(error);
      await clock.sleep(Math.max(backoff.nextMs(), askedDelayMs(error)), signal);
    }
  }
}

async function tryOnce(options: RegistrationOptions, signal: AbortSignal): Promise<Registration> {
  const { api, register, logger } = options;
  const initial = options.computeInitial();
  const taken = (existing: NodeObject): Omit<Registration, 'node'> => ({
    isNew: false,
    isOfKubeletHere: isOfKubeletHere(existing, initial),
  });
  if (!register) {
    const node = await api.get(signal);
    return { node, ...taken(node) };
  }
  const node = { name: options.name };
  try {
    const created = await api.create(initial, signal);
    logger.info('Successfully registered node', { node });
    return { node: created, isNew: true, isOfKubeletHere: false };
  } catch (error) {
    // Who may not create Nodes may still be given one.
    const isForbidden = isAnswer(error, 403);
    if (!isThereAlready(error) && !isForbidden) throw error;
    const existing = await api.get(signal).catch((problem: unknown) => {
      // What stood in the way of the Node says more than that there is none.
      throw isForbidden && isGone(problem) ? error : problem;
    });
    logger.info('Node was previously registered', { node });
    return { node: await takeUp(existing, initial, options, signal), ...taken(existing) };
  }
}

async function takeUp(
  existing: NodeObject,
  initial: NodeObject,
  { api, logger }: RegistrationOptions,
  signal: AbortSignal,
): Promise<NodeObject> {
  const unheeded = findUnheeded(existing, initial);
  if (unheeded.length > 0) {
    logger.warn(
      'Node exists already and is not given what only a new one is; use kubectl label, kubectl taint',
      {
        node: { name: existing.metadata.name },
        missing: unheeded,
      },
    );
  }
  const [before, now] = [existing, initial].map(({ status }) => status.nodeInfo?.machineID ?? '');
  if (before !== '' && now !== '' && before !== now) {
    logger.warn(
      'Node was that of another machine; if that is still running, the two take it from one another',
      {
        ...{ node: { name: existing.metadata.name }, before, now },
      },
    );
  }
  const { body } = diffNodes(existing, adoptNode(existing, initial));
  return body === undefined ? existing : await api.patchStatus(body, signal);
}

/**
 * Machines that were copied may share the one id, so both have to be the same. What podloop has told itself is no sign:
 * it says so of any Node that it was named.
 */
function isOfKubeletHere({ status: { nodeInfo: before } }: NodeObject, initial: NodeObject): boolean {
  const { nodeInfo: now } = initial.status;
  if (before === undefined || now === undefined || isPodloopVersion(before.kubeletVersion)) return false;
  const isSame = (one = '', other = ''): boolean => one !== '' && one.toLowerCase() === other.toLowerCase();
  return isSame(before.machineID, now.machineID) && isSame(before.systemUUID, now.systemUUID);
}

/** One line for each new reason why the Node cannot be registered, however often it is tried. */
class Outage {
  readonly #logger: Logger;
  #told: string | undefined;
  #tries = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  tell(error: unknown): void {
    this.#tries++;
    const message = messageOf(error);
    if (message === this.#told) return;
    this.#told = message;
    this.#logger.error('Unable to register node with API server, will retry', error);
  }

  end(): void {
    if (this.#tries > 0) this.#logger.info('Node is registered after failed tries', { failed: this.#tries });
  }
}
