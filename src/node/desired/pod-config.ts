/**
 * Merges what the sources of pods want into one stream of changes.
 *
 * In: from each source, repeatedly, all pods that it wants. Out: {@link PodUpdate}s, each of one source and
 * one type, with the difference to what the reader has already got. The reader never sees a source's whole
 * list.
 *
 * It assumes that a source delivers an absence only when it has seen it, which is up to the sources. A pod
 * that two sources want goes to the first (arbitrate-pods.ts), and the other one is reported as a problem.
 *
 * Nothing waits for the reader, and nothing grows while it is away: what it has not read yet is the
 * difference between what it got and what is wanted now, so changes of the same pod fold by themselves.
 *
 * @module
 */
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodUpdate } from '#kube/pod/pod-update.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { configDelivered, configUpdateHandedOut } from '#base/channels/config-channels.js';
import { PodloopError } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { arbitratePods, fullName, type PodClaim, type RefusedClaim } from './arbitrate-pods.js';
import { ConfigObjects } from './config-objects.js';
import { type ConfigProblem } from './config-problem.js';
import { type DebugContainers } from './debug-containers.js';
import { changedUids, diffPods, type PodSet } from './diff-pods.js';
import { judgeByManifest, type PodJudge } from './manifests/judge-pod.js';
import { type ManifestPlace } from './manifests/manifest-problem.js';
import { type WrittenObject } from './manifests/manifest-reader.js';
import { isConfigObject } from './manifests/source-object.js';
import { ProblemBook } from './problem-book.js';
import { type StoppedPods } from './stopped-pods.js';

/** The options of a delivery. */
export interface DeliveryOptions {
  /** False: the source has not read everything yet, and does not count as read (default: true). */
  readonly isComplete?: boolean;
  /** Where a pod is written, for problems. */
  readonly placeOf?: (pod: NodePod) => ManifestPlace | undefined;
  /**
   * All present objects of the source: its ConfigMaps and Secrets are available before any of its pods is handed
   * out (default: none).
   */
  readonly objects?: readonly WrittenObject[];
}

/** The entry of one source. */
export interface PodSourcePort {
  /**
   * Sets all pods that the source wants now, in its order. Takes effect at once; never waits, never throws.
   */
  deliver(pods: readonly NodePod[], options?: DeliveryOptions): void;
}

/** How the pods of a source are compared. */
export interface PodSourceOptions {
  /** Default: {@link judgeByManifest}. */
  readonly judge?: PodJudge;
}

/** What {@link PodConfig} needs. */
export interface PodConfigOptions extends Publisher {
  /** Receives pods that two sources want. */
  readonly problems?: ProblemBook;
  /** Receives the objects of the sources. */
  readonly objects?: ConfigObjects;
  /** Pods that have to end, or may not start, although a source wants them (default: none). */
  readonly stopped?: Pick<StoppedPods, 'apply' | 'settle'>;
  /** Containers that were added to pods for debugging (default: none). */
  readonly debugged?: Pick<DebugContainers, 'apply' | 'settle'> | undefined;
  readonly logger?: Logger;
}

/** The counters of {@link PodConfig}. */
export interface PodConfigStats {
  readonly deliveries: number;
  /** Changes that replaced one that nobody had read yet. */
  readonly folded: number;
  /** Updates that the reader has got. */
  readonly handedOut: number;
}

interface Source {
  readonly name: string;
  readonly judge: PodJudge;
  /** As last delivered, with the number of the delivery that first wanted each. */
  claims: readonly PodClaim[];
  placeOf: (pod: NodePod) => ManifestPlace | undefined;
  wanted: PodSet;
  /** What the reader has got, or is getting. */
  told: PodSet;
  isComplete: boolean;
  isSeen: boolean;
}

const PART = 'sources';

/** The pods that all sources together want, and the changes that lead there. */
export class PodConfig {
  /** The ConfigMaps and Secrets that the sources have delivered. */
  readonly objects: ConfigObjects;
  readonly #problems: ProblemBook;
  readonly #stopped: PodConfigOptions['stopped'];
  readonly #debugged: PodConfigOptions['debugged'];
  readonly #logger: Logger;
  readonly #channels: Publisher['channels'];
  readonly #sources = new Map<string, Source>();
  /** Computed but not read yet; belongs to {@link Source.told}. */
  #batch: PodUpdate[] = [];
  /** Source of the update that the reader is processing. */
  #inHand: string | undefined;
  #isRead = false;
  #claimCount = 0;
  #refused: readonly RefusedClaim[] = [];
  #wake: (() => void) | undefined;
  #deliveries = 0;
  #folded = 0;
  #handedOut = 0;

  constructor(options: PodConfigOptions = {}) {
    const { problems = new ProblemBook(), objects = new ConfigObjects(), logger = SILENT_LOGGER } = options;
    this.objects = objects;
    this.#problems = problems;
    this.#stopped = options.stopped;
    this.#debugged = options.debugged;
    this.#logger = logger;
    this.#channels = options.channels;
  }

  /** Counters as of now. */
  get stats(): PodConfigStats {
    return { deliveries: this.#deliveries, folded: this.#folded, handedOut: this.#handedOut };
  }

  /** Computes the wanted pods again, as pods were stopped, may run again, or got containers for debugging. */
  refresh(): void {
    // A stopped pod's manifest may have just changed: a source does not repeat what it has delivered.
    for (const { name, claims, isComplete } of this.#sources.values()) {
      const pods = claims.map(({ pod }) => pod);
      this.#stopped?.settle(name, pods, isComplete);
      this.#debugged?.settle(name, pods, isComplete);
    }
    this.#arbitrate();
    this.#wake?.();
  }

  /** All present problems, whoever reported them to the same book. */
  problems(): readonly ConfigProblem[] {
    return this.#problems.problems();
  }

  /** Why a pod that a source wants is refused, in words; undefined when it is not. */
  findRefusal(source: string, uid: string): string | undefined {
    const found = this.#refused.find(
      ({ claim }) => claim.source === source && claim.pod.metadata.uid === uid,
    );
    return found && this.#explain(found);
  }

  /**
   * Adds a source, before the first call of {@link seenAllSources} that has to include it. Each name only
   * once.
   */
  addSource(name: string, { judge = judgeByManifest }: PodSourceOptions = {}): PodSourcePort {
    if (this.#sources.has(name)) throw new Error(`there is a source ${name} already`);
    const source: Source = {
      ...{ name, judge, claims: [], placeOf: () => undefined, isComplete: false, isSeen: false },
      ...{ wanted: new Map(), told: new Map() },
    };
    this.#sources.set(name, source);
    return { deliver: (pods, options) => this.#deliver(source, pods, options) };
  }

  /**
   * Whether all sources have delivered all of their pods, and the reader has processed them.
   *
   * Only then is an unlisted pod really unwanted. `except`: that source does not count.
   */
  seenAllSources(except?: string): boolean {
    return [...this.#sources.values()].every(({ name, isSeen }) => isSeen || name === except);
  }

  /**
   * The changes, until the signal aborts. Requesting the next update marks the last one as processed.
   *
   * One reader at a time. A reader that leaves has processed what it got; the next one gets what follows.
   */
  async *updates(signal: AbortSignal): AsyncGenerator<PodUpdate, void, undefined> {
    if (this.#isRead) throw new PodloopError('SUBSCRIPTION_IN_USE', 'the updates of pods have one reader');
    this.#isRead = true;
    try {
      while (!signal.aborted) {
        const update = this.#take();
        if (update === undefined) {
          await this.#arrival(signal);
          continue;
        }
        this.#inHand = update.source;
        this.#handedOut++;
        publishTo(this.#channels, configUpdateHandedOut, {
          ...{ source: update.source, type: update.type, pods: update.pods.length },
        });
        yield update;
        this.#dealtWith();
      }
    } finally {
      this.#isRead = false;
      this.#dealtWith();
    }
  }

  #deliver(source: Source, pods: readonly NodePod[], options: DeliveryOptions = {}): void {
    const { isComplete = true, placeOf = () => undefined, objects = [] } = options;
    this.#deliveries++;
    this.objects.deliver(source.name, objects.filter(isConfigObject));
    this.#logger.info('Setting pods for source', { source: source.name, pods: pods.length }, 4);
    const before = new Map(source.claims.map((claim) => [claimKey(claim.pod), claim.since]));
    source.claims = pods.map((pod) => ({
      ...{ source: source.name, pod, isHeld: false },
      since: before.get(claimKey(pod)) ?? ++this.#claimCount,
    }));
    source.placeOf = placeOf;
    source.isComplete ||= isComplete;
    this.#stopped?.settle(source.name, pods, source.isComplete);
    this.#debugged?.settle(source.name, pods, source.isComplete);
    const { refused, folded } = this.#arbitrate();
    const own = refused.filter(({ claim }) => claim.source === source.name).length;
    const { name } = source;
    publishTo(this.#channels, configDelivered, {
      source: name,
      pods: pods.length,
      refused: own,
      folded,
      isComplete,
    });
    this.#settleSeen();
    this.#wake?.();
  }

  /** Assigns every pod to its source. */
  #arbitrate(): { readonly refused: readonly RefusedClaim[]; readonly folded: number } {
    const sources = [...this.#sources.values()];
    for (const source of sources) {
      source.claims = source.claims.map((claim) => {
        const held = source.wanted.get(claim.pod.metadata.uid);
        return { ...claim, isHeld: held !== undefined && fullName(held) === fullName(claim.pod) };
      });
    }
    const { accepted, refused } = arbitratePods(sources.flatMap(({ claims }) => claims));
    let folded = 0;
    for (const source of sources) {
      const pods = source.claims
        .filter((claim) => accepted.has(claim))
        .flatMap(({ pod }) => this.#change(pod) ?? []);
      const wanted = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
      const unread = changedUids(diffPods(source.told, source.wanted, source.judge));
      if (unread.size > 0) {
        const changed = changedUids(diffPods(source.wanted, wanted, source.judge));
        for (const uid of changed) if (unread.has(uid)) folded++;
      }
      source.wanted = wanted;
    }
    this.#folded += folded;
    this.#refused = refused;
    this.#problems.report(
      PART,
      refused.map((each) => this.#conflict(each)),
    );
    return { refused, folded };
  }

  /** The pod as it is wanted beside its manifest; undefined when it is left out. */
  #change(pod: NodePod): NodePod | undefined {
    const debugged = this.#debugged?.apply(pod) ?? pod;
    return this.#stopped === undefined ? debugged : this.#stopped.apply(debugged);
  }

  #conflict(refused: RefusedClaim): ConfigProblem {
    const { claim, by } = refused;
    const { name, namespace } = claim.pod.metadata;
    return {
      ...(this.#placeOf(claim) ?? { file: `<${claim.source}>`, line: 1, column: 1 }),
      ...{ source: claim.source, kind: 'conflict', path: by === 'name' ? 'metadata.name' : 'metadata.uid' },
      message: `refused: ${this.#explain(refused)}`,
      ...{ pod: name, namespace, kept: [] },
    };
  }

  #explain({ claim, holder, by }: RefusedClaim): string {
    const at = this.#placeOf(holder);
    const where = at === undefined ? '' : ` (${at.file}:${at.line})`;
    const { uid } = claim.pod.metadata;
    const what =
      by === 'name' ? `the pod ${fullName(claim.pod)}` : `the uid ${uid} as ${fullName(holder.pod)}`;
    return `the source ${holder.source}${where} has ${what} already; it comes when that is gone`;
  }

  #placeOf({ source, pod }: PodClaim): ManifestPlace | undefined {
    return this.#sources.get(source)?.placeOf(pod);
  }

  #take(): PodUpdate | undefined {
    if (this.#batch.length === 0) this.#computeBatch();
    return this.#batch.shift();
  }

  /** All sources at once: a pod that moves between sources is removed before it is added. */
  #computeBatch(): void {
    const updates: PodUpdate[] = [];
    for (const source of this.#sources.values()) {
      const { changes, known } = diffPods(source.told, source.wanted, source.judge);
      source.told = known;
      updates.push(...changes.map((change) => ({ ...change, source: source.name })));
    }
    const isRemoval = ({ type }: PodUpdate): boolean => type === 'REMOVE';
    this.#batch = [...updates.filter(isRemoval), ...updates.filter((update) => !isRemoval(update))];
  }

  #dealtWith(): void {
    this.#inHand = undefined;
    this.#settleSeen();
  }

  #settleSeen(): void {
    for (const source of this.#sources.values()) {
      if (source.isSeen || !source.isComplete || this.#inHand === source.name) continue;
      if (this.#batch.some((update) => update.source === source.name)) continue;
      const { changes } = diffPods(source.told, source.wanted, source.judge);
      source.isSeen = changes.length === 0;
    }
  }

  async #arrival(signal: AbortSignal): Promise<void> {
    let wake = (): void => undefined;
    await new Promise<void>((resolve) => {
      wake = resolve;
      this.#wake = resolve;
      signal.addEventListener('abort', wake, { once: true });
    });
    signal.removeEventListener('abort', wake);
    this.#wake = undefined;
  }
}

function claimKey(pod: NodePod): string {
  return `${pod.metadata.uid} ${fullName(pod)}`;
}
