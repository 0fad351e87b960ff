/**
 * Holds pods to their limits of `ephemeral-storage`: whoever goes beyond one is evicted.
 *
 * In: the pods that may run, and what they use. Out: evictions, in the kubelet's words. It looks now and then, and at
 * nothing while no pod has such a limit; so a pod may go well beyond it before it is seen.
 *
 * Source: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#local-ephemeral-storage
 *
 * @module
 */
import { type NodePod } from '../model/node-pod.js';
import { type PodUse } from '../model/pod-use.js';
import { findQuantity, toWholeUnits } from '../model/quantity.js';
import { type Clock } from '../util/clock.js';
import { messageOf } from '../util/errors.js';
import { type Logger } from '../util/logger.js';
import { formatBytes } from './eviction-message.js';

/** What {@link StorageLimits} needs. */
export interface StorageLimitsOptions {
  /** Pods that may run and are not being ended. */
  readonly pods: () => readonly NodePod[];
  /** What these pods use, by uid. */
  readonly measurePods: (
    podUids: ReadonlySet<string>,
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, PodUse>>;
  /** Whether images and what containers write have a disk of their own. */
  readonly hasImageDisk: (signal: AbortSignal) => Promise<boolean>;
  /** Ends the pod for good; returns at once. */
  readonly evict: (pod: NodePod, eviction: { readonly signal: string; readonly message: string }) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const RESOURCE = 'ephemeral-storage';
/** As often as a kubelet looks. */
const PERIOD_MS = 10_000;
/** How many times as long as measuring took nothing is measured. */
const REST_FACTOR = 9;

/** See the module. */
export class StorageLimits {
  readonly #options: StorageLimitsOptions;
  #complaint: string | undefined;

  constructor(options: StorageLimitsOptions) {
    this.#options = options;
  }

  /** Looks again and again until the signal aborts; resolves then. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    let restMs = PERIOD_MS;
    while (!signal.aborted) {
      await clock.sleep(restMs, signal).catch(() => undefined);
      const startedMs = clock.monotonicMs();
      await this.check(signal);
      restMs = Math.max(PERIOD_MS, REST_FACTOR * (clock.monotonicMs() - startedMs));
    }
  }

  /** Looks once. Never rejects. */
  async check(signal: AbortSignal): Promise<void> {
    const { pods, measurePods, hasImageDisk, evict, logger } = this.#options;
    const limited = new Set(
      pods()
        .filter(isLimited)
        .map(({ metadata }) => metadata.uid),
    );
    if (limited.size === 0) return;
    try {
      const [uses, isElsewhere] = await Promise.all([measurePods(limited, signal), hasImageDisk(signal)]);
      this.#complaint = undefined;
      for (const pod of pods()) {
        if (!limited.has(pod.metadata.uid)) continue;
        const use = uses.get(pod.metadata.uid);
        const excess = use && findExcess(pod, use, isElsewhere);
        if (excess !== undefined) evict(pod, excess);
      }
    } catch (error) {
      const complaint = messageOf(error);
      if (signal.aborted || complaint === this.#complaint) return;
      this.#complaint = complaint;
      logger.warn('It cannot be told what pods have written: their limits do not hold', { err: complaint });
    }
  }
}

/** Which limit a pod is beyond, and why it ends: its own before those of its containers. Pure. */
function findExcess(
  { spec }: NodePod,
  { containers: uses, volumeBytes }: PodUse,
  hasImageDisk: boolean,
): { readonly signal: string; readonly message: string } | undefined {
  const limits = [...spec.containers, ...(spec.initContainers ?? [])].flatMap(({ name, resources }) => {
    const text = resources?.limits?.[RESOURCE];
    const limit = text === undefined ? undefined : findQuantity(text);
    return limit === undefined ? [] : [{ name, text, bytes: toWholeUnits(limit) }];
  });
  const written = uses.reduce((sum, use) => sum + (use.writtenBytes ?? 0) + (use.logBytes ?? 0), volumeBytes);
  const total = limits.reduce((sum, { bytes }) => sum + bytes, 0n);
  // The spaces at the ends are a kubelet's.
  if (BigInt(written) > total) {
    const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${formatBytes(total)}. `;
    return { signal: 'ephemeralpodfs.limit', message };
  }
  for (const { name, text, bytes } of limits) {
    const use = uses.find((each) => each.name === name);
    const own = (use?.logBytes ?? 0) + (hasImageDisk ? 0 : (use?.writtenBytes ?? 0));
    if (BigInt(own) <= bytes) continue;
    const message = `Container ${name} exceeded its local ephemeral storage limit "${text}". `;
    return { signal: 'ephemeralcontainerfs.limit', message };
  }
  return undefined;
}

function isLimited({ spec }: NodePod): boolean {
  return [...spec.containers, ...(spec.initContainers ?? [])].some(
    ({ resources }) => resources?.limits?.[RESOURCE] !== undefined,
  );
}
