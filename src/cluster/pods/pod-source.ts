/**
 * Turns the pods of the API server into desired pods of this node.
 *
 * In: {@link KnownPods}. Out: again and again all pods that are to be here, as every source of pods delivers them. Nothing
 * is delivered before all pods were listed and the node is known: until then nobody may take a pod for one that is gone. While
 * the API server is away what was delivered holds.
 *
 * Copies of static pods are left out: the node has those from elsewhere. A pod whose name a static pod has is delivered, and told
 * to wait for as long as that is there.
 *
 * @module
 */
import { isDeepStrictEqual } from 'node:util';
import { formatFieldProblem } from '#kube/fields/field-problem.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { readClusterPod } from '#kube/pod/read-cluster-pod.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { hasEndedThere, isMirrorPod, type NamedApiPod, refOf } from './api-pod.js';
import { type KnownPods } from './known-pods.js';
import { toNodeStatus, untakenStatus } from './to-node-status.js';

/** What {@link PodSource} needs. */
export interface PodSourceOptions {
  readonly known: KnownPods;
  /** Takes all pods that are to be here. */
  readonly deliver: (pods: readonly NodePod[]) => void;
  /** Why a pod that was delivered is not run; undefined when nothing is in its way. */
  readonly findRefusal: (uid: string) => string | undefined;
  /** Something has come into the way of a pod that was delivered, or is there no more. */
  readonly onRefusalChanged: (uid: string) => void;
  /** The API server holds a pod for ended: it must not run, or not any more. May be called more than once. */
  readonly onEnded: (pod: NodePod, status: V1PodStatus) => void;
  readonly events: PodEventRecorder;
  /**
   * Asked about a pod that comes: it is handed out only when the promise has settled, as more has to be known of the node before.
   * At once where there is none.
   */
  readonly settle?: (pod: NamedApiPod) => Promise<void> | undefined;
  readonly logger?: Logger;
}

interface Entry {
  readonly api: NamedApiPod;
  /** As it could be read last. */
  readonly pod: NodePod | undefined;
  /** What no pod of this node gets, one sentence each. */
  readonly problems: readonly string[];
}

/** The reason on pods that ask for what this node has not. */
export const UNSUPPORTED_POD = 'PodFeatureNotSupported';

/** The reason on pods whose name another pod of the node has: a static one. */
const NAME_IN_USE = 'PodNameInUse';

/** See the module. */
export class PodSource {
  readonly #options: PodSourceOptions;
  readonly #logger: Logger;
  readonly #entries = new Map<string, Entry>();
  readonly #generations = new WeakMap<NodePod, number>();
  /** Those that wait for more to be known of the node. */
  readonly #unsettled = new Set<string>();
  /**
   * What was told last of pods that were delivered and are not run, by uid: so that each reason is told once, and that nothing is in
   * the way any more is told, too. Why it is so now is `findRefusal`'s to say.
   */
  readonly #reportedRefusals = new Map<string, string>();
  #isNodeKnown = false;
  #isComplete = false;
  #willDeliver = false;
  #unknownFields = 0;

  constructor(options: PodSourceOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    options.known.listen({
      changed: (pod) => this.#take(pod),
      gone: ({ metadata }) => {
        this.#unsettled.delete(metadata.uid);
        this.#reportedRefusals.delete(metadata.uid);
        if (this.#entries.delete(metadata.uid)) this.#deliverSoon();
      },
      listed: () => {
        this.#isComplete = true;
        this.#deliverSoon();
      },
    });
  }

  /** Fields of pods that podloop does not know, in all. */
  get unknownFields(): number {
    return this.#unknownFields;
  }

  /** Pods can be judged now: to be called once the node's labels and taints are known. */
  nodeIsKnown(): void {
    if (this.#isNodeKnown) return;
    this.#isNodeKnown = true;
    this.#deliverSoon();
  }

  /** What a pod asks for and no pod of this node gets; empty for one that can run. */
  problemsOf(uid: string): readonly string[] {
    return this.#entries.get(uid)?.problems ?? [];
  }

  /** The status of a pod that this node does not take: nobody can read it here, or another pod has its name. */
  findUntaken(uid: string): V1PodStatus | undefined {
    const { api, pod, problems = [] } = this.#entries.get(uid) ?? {};
    if (api === undefined) return undefined;
    if (pod === undefined) {
      const message = `Pod was rejected: ${problems.join('; ')}`;
      return untakenStatus(api, { phase: 'Failed', reason: UNSUPPORTED_POD, message });
    }
    const why = this.#options.findRefusal(uid);
    if (why === undefined || hasEndedThere(api)) return undefined;
    // As long as somebody wants it, it may still come.
    const phase = api.metadata.deletionTimestamp === undefined ? 'Pending' : 'Failed';
    return untakenStatus(api, { phase, reason: NAME_IN_USE, message: describeRefusal(why) });
  }

  /** The version of the spec that a pod was read from; undefined when it is not one of ours, or the server does not say. */
  generationOf(pod: NodePod): number | undefined {
    return this.#generations.get(pod);
  }

  #take(api: NamedApiPod): void {
    const { uid } = api.metadata;
    if (isMirrorPod(api)) return;
    const before = this.#entries.get(uid);
    const entry = before !== undefined && isSameWish(before.api, api) ? { ...before, api } : this.#read(api);
    this.#entries.set(uid, entry);
    if (entry.pod !== undefined && hasEndedThere(api)) this.#options.onEnded(entry.pod, toNodeStatus(api));
    if (before === undefined) this.#settle(api);
    if (entry.pod !== before?.pod) this.#deliverSoon();
  }

  /** What was there at the first look may run already: it must not be taken for gone. */
  #settle(api: NamedApiPod): void {
    const settling = this.#isComplete ? this.#options.settle?.(api) : undefined;
    if (settling === undefined) return;
    const { uid } = api.metadata;
    this.#unsettled.add(uid);
    const end = (): void => {
      if (this.#unsettled.delete(uid)) this.#deliverSoon();
    };
    settling.then(end, end);
  }

  #read(api: NamedApiPod): Entry {
    const { uid, generation, deletionTimestamp, deletionGracePeriodSeconds } = api.metadata;
    const { pod: read, problems: found, unknownFields } = readClusterPod(api);
    this.#unknownFields += unknownFields;
    const problems = found.map(formatFieldProblem);
    const before = this.#entries.get(uid)?.pod;
    let pod = read;
    if (read === undefined) {
      this.#reportUnreadable(api, problems, before !== undefined);
      // What is there goes on as it is; that it is to end can be read in any case.
      if (before !== undefined) {
        const end = { deletionTimestamp, deletionGracePeriodSeconds };
        const isToEnd = deletionTimestamp !== undefined;
        pod = isToEnd ? { ...before, metadata: { ...before.metadata, ...end } } : before;
      }
    }
    if (pod !== undefined && generation !== undefined) this.#generations.set(pod, generation);
    return { api, pod, problems };
  }

  #reportUnreadable(api: NamedApiPod, problems: readonly string[], isKept: boolean): void {
    const { events } = this.#options;
    const what = isKept ? 'The new version of the pod cannot be read' : 'The pod cannot be read';
    const message = `${what}: ${problems.join('; ')}`;
    this.#logger.warn('Pod of the API server cannot be read', { pod: refOf(api), isKept, problems });
    events.record(refOf(api), { type: 'Warning', reason: UNSUPPORTED_POD, message });
  }

  /** Once for all that comes at the same time, as a list or a burst of events does. */
  #deliverSoon(): void {
    if (this.#willDeliver || !this.#isComplete || !this.#isNodeKnown) return;
    this.#willDeliver = true;
    setImmediate(() => {
      this.#willDeliver = false;
      const settled = [...this.#entries].filter(([uid]) => !this.#unsettled.has(uid));
      this.#options.deliver(settled.flatMap(([, { pod }]) => pod ?? []));
      for (const [uid, { api }] of settled) this.#reportRefusal(uid, api);
    });
  }

  #reportRefusal(uid: string, api: NamedApiPod): void {
    const { findRefusal, onRefusalChanged, events } = this.#options;
    const why = hasEndedThere(api) ? undefined : findRefusal(uid);
    if (why === this.#reportedRefusals.get(uid)) return;
    if (why === undefined) this.#reportedRefusals.delete(uid);
    else {
      this.#reportedRefusals.set(uid, why);
      events.record(refOf(api), { type: 'Warning', reason: NAME_IN_USE, message: describeRefusal(why) });
    }
    onRefusalChanged(uid);
  }
}

function describeRefusal(why: string): string {
  return `The pod is not started: ${why}`;
}

/** Whether two versions want the same of the node: most changes are of the status, and that is the node's own. */
function isSameWish(one: NamedApiPod, other: NamedApiPod): boolean {
  return isDeepStrictEqual(wishOf(one), wishOf(other));
}

function wishOf({ metadata, spec }: NamedApiPod): unknown {
  const { resourceVersion: _version, ...rest } = metadata;
  return [rest, spec];
}
