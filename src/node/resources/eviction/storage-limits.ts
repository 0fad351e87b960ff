/**
 * Evicts pods that exceed their limits of `ephemeral-storage`.
 *
 * In: the pods that may run, and their usage. Out: evictions, in the kubelet's words. It measures now and
 * then, and only while some pod has such a limit, so a pod may far exceed it before that is noticed.
 *
 * Source:
 * https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#local-ephemeral-storage
 *
 * @module
 */
import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { computeOtherLimit } from '#kube/pod/pod-requests.js';
import { type PodUse } from '#kube/pod/pod-use.js';
import { formatBytes, wholeUnitsOf } from '#kube/fields/quantity.js';
import { sidecarsOf } from '#kube/container/restart-rule.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { repeatWithRests } from '#base/async/repeat-with-rests.js';

/** What {@link StorageLimits} needs. */
export interface StorageLimitsOptions {
  /** Pods whose limits are enforced: they may run and are not being ended. */
  readonly pods: () => readonly NodePod[];
  /** The usage of these pods, by uid. Rejects when none is known. */
  readonly measurePods: (
    pods: readonly NodePod[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, PodUse>>;
  /** Whether images and writable layers have a disk of their own. */
  readonly hasImageDisk: (signal: AbortSignal) => Promise<boolean>;
  /** Ends the pod for good; returns at once. */
  readonly evict: (pod: NodePod, eviction: { readonly signal: string; readonly message: string }) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const RESOURCE = 'ephemeral-storage';

/** See the module. */
export class StorageLimits {
  readonly #options: StorageLimitsOptions;
  /** Whether a pod has a limit; cached, as it is read for each pod every ten seconds. */
  readonly #hasLimit = new WeakMap<NodePod['spec'], boolean>();
  #complaint: string | undefined;

  constructor(options: StorageLimitsOptions) {
    this.#options = options;
  }

  /** Measures repeatedly until the signal aborts; then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    await repeatWithRests(this.#options.clock, signal, async () => this.check(signal));
  }

  /** Measures once. Never rejects. */
  async check(signal: AbortSignal): Promise<void> {
    const { pods, measurePods, hasImageDisk, evict, logger } = this.#options;
    const limited = pods().filter(({ spec }) => this.#isLimited(spec));
    if (limited.length === 0) return;
    try {
      const [uses, isElsewhere] = await Promise.all([measurePods(limited, signal), hasImageDisk(signal)]);
      this.#complaint = undefined;
      // The present pods, as measuring may take seconds.
      for (const pod of pods()) {
        const use = uses.get(pod.metadata.uid);
        const excess = use && findExcess(pod, use, isElsewhere);
        if (excess !== undefined) evict(pod, excess);
      }
    } catch (error) {
      const complaint = messageOf(error);
      if (signal.aborted || complaint === this.#complaint) return;
      this.#complaint = complaint;
      logger.warn('The storage use of pods cannot be measured: their limits are not enforced', {
        err: complaint,
      });
    }
  }

  #isLimited(spec: NodePod['spec']): boolean {
    const known = this.#hasLimit.get(spec);
    if (known !== undefined) return known;
    const isLimited = computeOtherLimit(spec, RESOURCE) !== undefined;
    this.#hasLimit.set(spec, isLimited);
    return isLimited;
  }
}

/** The limit that a pod exceeds, and why it ends: its own before those of its containers. Pure. */
function findExcess(
  { spec }: NodePod,
  { containers: uses, volumeBytes = 0, fileBytes = 0 }: PodUse,
  hasImageDisk: boolean,
): { readonly signal: string; readonly message: string } | undefined {
  // With volumes that were not counted yet, it is at least that much.
  const written = uses.reduce(
    (sum, use) => sum + (use.writtenBytes ?? 0) + (use.logBytes ?? 0) + (use.fileBytes ?? 0),
    volumeBytes + fileBytes,
  );
  const total = computeOtherLimit(spec, RESOURCE);
  // The trailing spaces are a kubelet's.
  if (total !== undefined && BigInt(written) > total) {
    const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${formatBytes(total)}. `;
    return { signal: 'ephemeralpodfs.limit', message };
  }
  for (const { name, resources } of stayingContainersOf(spec)) {
    const text = resources?.limits?.[RESOURCE] ?? '0';
    const limit = wholeUnitsOf(text);
    if (limit === 0n) continue;
    const use = uses.find((each) => each.name === name);
    const ownFiles = (use?.logBytes ?? 0) + (use?.fileBytes ?? 0);
    const own = ownFiles + (hasImageDisk ? 0 : (use?.writtenBytes ?? 0));
    if (BigInt(own) <= limit) continue;
    const message = `Container ${name} exceeded its local ephemeral storage limit "${text}". `;
    return { signal: 'ephemeralcontainerfs.limit', message };
  }
  return undefined;
}

/**
 * The containers that run to the end of the pod: an init container's own limit does not count, as it is soon
 * over.
 */
function stayingContainersOf(spec: NodePod['spec']): readonly Container[] {
  return [...spec.containers, ...sidecarsOf(spec)];
}
