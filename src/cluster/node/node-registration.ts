import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { ApiError } from '../client/kube-client.js';
import { findUnheeded } from './compute-initial-node.js';
import { askedDelayMs, isThereAlready, type NodeApi } from './node-api.js';
import { adoptOnce } from './node-adoption.js';
import { type NodeObject } from './node-object.js';
import { isPodloopVersion } from './node-settings.js';

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
  /** Called for each failed attempt. */
  readonly onFailure?: (error: unknown) => void;
}

/** The Node that there is now. */
export interface Registration {
  readonly node: NodeObject;
  /** It was created, and not there before. */
  readonly isNew: boolean;
  /** It was there before, and a kubelet on this very machine kept it until we came. */
  readonly isOfKubeletHere: boolean;
  /** It was there before, and could not be given what it lacks of this one, as which it would have been created. */
  readonly toAdopt?: NodeObject;
}

const FIRST_DELAY_MS = 100;
/** The kubelet's. */
const MAX_DELAY_MS = 7_000;

/**
 * Creates the Node or takes up the one of that name, again and again until it is there: at once, then after 100 ms
 * doubling to 7 s. Rejects only with the signal's reason.
 */
export async function registerNode(options: RegistrationOptions, signal: AbortSignal): Promise<Registration> {
  const { clock, onFailure } = options;
  const backoff = new Backoff({ initialMs: FIRST_DELAY_MS, maxMs: MAX_DELAY_MS });
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

/**
 * A Node that is there is found before one is made: whether there is one already an API server looks only once webhooks and
 * policies have let a new one through, and those may refuse it, or hang.
 */
async function tryOnce(options: RegistrationOptions, signal: AbortSignal): Promise<Registration> {
  const { api, register, name, logger } = options;
  const initial = options.computeInitial();
  if (!register) {
    const node = await api.get(signal);
    return { node, isNew: false, isOfKubeletHere: isOfKubeletHere(node, initial) };
  }
  const found = await findNode(api, signal);
  if (found !== undefined) return await takeUp(found, initial, options, signal);
  try {
    const created = await api.create(initial, signal);
    logger.info('Successfully registered node', { node: { name } });
    return { node: created, isNew: true, isOfKubeletHere: false };
  } catch (error) {
    if (!isThereAlready(error)) throw error;
    return await takeUp(await api.get(signal), initial, options, signal);
  }
}

/** Undefined also where the API server does not say: whoever may not look may still be let create one. */
async function findNode(api: NodeApi, signal: AbortSignal): Promise<NodeObject | undefined> {
  try {
    return await api.get(signal);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

async function takeUp(
  existing: NodeObject,
  initial: NodeObject,
  { api, name, logger }: RegistrationOptions,
  signal: AbortSignal,
): Promise<Registration> {
  const node = { name };
  logger.info('Node was previously registered', { node });
  const missing = findUnheeded(existing, initial);
  if (missing.length > 0) {
    logger.warn(
      'Node exists already and is not given what only a new one is; use kubectl label, kubectl taint',
      { node, missing },
    );
  }
  const [before, now] = [existing, initial].map(({ status }) => status.nodeInfo?.machineID ?? '');
  if (before !== '' && now !== '' && before !== now) {
    logger.warn(
      'Node was that of another machine; if that is still running, the two take it from one another',
      { node, before, now },
    );
  }
  const taken = { isNew: false, isOfKubeletHere: isOfKubeletHere(existing, initial) };
  try {
    return { node: await adoptOnce(api, existing, initial, signal), ...taken };
  } catch (error) {
    signal.throwIfAborted();
    // Its pods and its lease need none of that.
    logger.warn('Node exists already and cannot be given its labels, will retry', {
      ...{ node, err: messageOf(error) },
    });
    return { node: existing, ...taken, toAdopt: initial };
  }
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
