import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { adoptNode } from './compute-initial-node.js';
import { askedDelayMs, isGone, type NodeApi } from './node-api.js';
import { type NodeObject } from './node-object.js';
import { diffNodes } from './node-status-patch.js';

/** What {@link adoptInTheEnd} needs. */
export interface AdoptionOptions {
  readonly api: NodeApi;
  /** As the Node would have been created. */
  readonly initial: NodeObject;
  /** As it was seen last; undefined when it is gone. */
  readonly latest: () => NodeObject | undefined;
  /** Called with the Node once it has everything. */
  readonly onNode: (node: NodeObject) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const FIRST_DELAY_MS = 1_000;
/** What refuses it may do so for good. */
const MAX_DELAY_MS = 60_000;

/**
 * Gives a Node that was there already what a node sees to of the one that it would have created. Resolves with the Node as it
 * is then; rejects with what the request did.
 */
export async function adoptOnce(
  api: NodeApi,
  existing: NodeObject,
  initial: NodeObject,
  signal: AbortSignal,
): Promise<NodeObject> {
  const { body } = diffNodes(existing, adoptNode(existing, initial));
  return body === undefined ? existing : await api.patchStatus(body, signal);
}

/** Does that again and again until it is done, the Node is gone, or the signal aborts; resolves then. */
export async function adoptInTheEnd(options: AdoptionOptions, signal: AbortSignal): Promise<void> {
  const { api, initial, latest, onNode, clock, logger } = options;
  const backoff = new Backoff({ initialMs: FIRST_DELAY_MS, maxMs: MAX_DELAY_MS });
  let askedMs = 0;
  for (;;) {
    try {
      await clock.sleep(Math.max(backoff.nextMs(), askedMs), signal);
    } catch {
      return;
    }
    const existing = latest();
    // A client that creates it again decides what is in it.
    if (existing === undefined) return;
    try {
      onNode(await adoptOnce(api, existing, initial, signal));
      logger.info('Node was given its labels', { node: { name: existing.metadata.name } });
      return;
    } catch (error) {
      if (isGone(error)) return;
      askedMs = askedDelayMs(error);
    }
  }
}
