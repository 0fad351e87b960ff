/**
 * Runs the workloads of an agent: between the sources of manifests and the pods that the agent gets.
 *
 * In: what each source delivers, pods and objects; what becomes of pods. Out: what each source delivers, with
 * the pods of its workloads. A pod is handed on once it is on the disk that it is wanted, and an agent that is
 * killed at any point is followed by one that goes on with the same pods.
 *
 * ```
 * source ─► pods, workloads ─► records on the disk ─► pods of both ─► PodConfig
 *                 ▲                                        │
 *                 └──────── what became of the pods ◄──────┘
 * ```
 *
 * A workload is removed only when its source has read everything and has it no more.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type RecordFile } from '#base/fs/record-file.js';
import { RecordFolder } from '#base/fs/record-folder.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { Wakeup } from '#base/async/wakeup.js';
import { type Logger } from '#base/log/logger.js';
import { type Clock } from '#base/time/clock.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type ClaimSpec, type Workload } from '#kube/workloads/workload.js';
import { type JobEnd, toJobEnd } from './job.js';
import { makePod } from './make-pod.js';
import { type PodProgress, type WorkloadEvent } from './reconciling.js';
import { reconcileTree } from './reconcile-tree.js';
import { toV1Workloads, type V1Workload } from './v1-workload.js';
import { claimsOf, type DeclaredClaim, declaredClaims } from './workload-claims.js';
import {
  type ControlledKind,
  type ControlledWorkload,
  nameOfWorkload,
  parseTree,
  recordsOf,
  type WorkloadRecord,
  type WorkloadTree,
} from './workload-record.js';

/** What one source wants now. */
export interface WorkloadDelivery {
  readonly pods: readonly NodePod[];
  readonly workloads: readonly Workload[];
  /** The source has read everything. */
  readonly isComplete: boolean;
  /**
   * Hands pods on: those of the delivery and those of its workloads. `isComplete`: no other pods are wanted of
   * the source.
   */
  readonly hand: (pods: readonly NodePod[], isComplete: boolean) => void;
}

/** What {@link WorkloadControllers} needs. */
export interface WorkloadControllersOptions {
  readonly folder: string;
  readonly nodeName: string;
  readonly progressOf: (pod: NodePod) => PodProgress;
  /** An event about a workload. */
  readonly onEvent: (about: WorkloadRecord, event: WorkloadEvent) => void;
  /** A claim that pods will need. Never rejects. */
  readonly onClaim: (claim: { readonly namespace: string; readonly name: string }, spec: ClaimSpec) => void;
  readonly random: () => number;
  readonly newUid: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A record that could not be written is tried again after this time. */
const RETRY_MS = 10_000;
/** The longest sleep: timers are not exact, and clocks are set. */
const MAX_SLEEP_MS = 60_000;

interface Stored {
  tree: WorkloadTree;
  readonly file: RecordFile<WorkloadTree>;
  /** When its controllers asked to be called again. */
  dueMs: number;
  /** The tree is on the disk. */
  isStored: boolean;
  /** Why the last write has failed. */
  failure?: unknown;
}

/** A change beside the manifest that somebody waits for. */
interface PendingChange {
  readonly key: string;
  readonly change: (object: ControlledWorkload) => ControlledWorkload;
  readonly resolve: (isThere: boolean) => void;
  readonly reject: (error: Error) => void;
}

interface Source {
  delivery: WorkloadDelivery;
  /** What is delivered has been brought to the disk. */
  isSettled: boolean;
  /** That was tried at least: what the disk refuses stays as it was, and keeps no other pod from its end. */
  isTaken: boolean;
  /** Keys of the workloads of the last delivery: others may be gone, and are left as they are until that is known. */
  readonly wanted: ReadonlySet<string>;
}

/** What earlier agents have stored. Unreadable records are left out. */
export async function readWorkloadTrees(folder: string): Promise<WorkloadTree[]> {
  const { values } = await new RecordFolder<WorkloadTree>({ folder, parse: parseTree }).load();
  return [...values.values()];
}

/** See the module. */
export class WorkloadControllers {
  readonly #options: WorkloadControllersOptions;
  readonly #records: RecordFolder<WorkloadTree>;
  /** By source, kind, namespace and name. */
  readonly #trees = new Map<string, Stored>();
  readonly #sources = new Map<string, Source>();
  /** By uid: the same object as long as the pod is wanted. */
  readonly #pods = new Map<string, NodePod>();
  readonly #wakeup = new Wakeup();
  /** Keys of trees to be reconciled. */
  readonly #dirty = new Set<string>();
  /** As many as there are requests for them. */
  readonly #changes: PendingChange[] = [];

  private constructor(options: WorkloadControllersOptions, records: RecordFolder<WorkloadTree>) {
    this.#options = options;
    this.#records = records;
  }

  /** Reads what earlier agents have stored. Rejects with FOLDER_UNUSABLE if it cannot: Jobs would run twice. */
  static async open(options: WorkloadControllersOptions): Promise<WorkloadControllers> {
    const { folder } = options;
    const records = new RecordFolder<WorkloadTree>({ folder, parse: parseTree });
    const { values, unreadable } = await records.load();
    const [first] = unreadable;
    if (first !== undefined) {
      const why = `${first.path} cannot be read: ${messageOf(first.error)}`;
      throw new PodloopError('FOLDER_UNUSABLE', `${why}; remove it to have its workload begin from nothing`);
    }
    const controllers = new WorkloadControllers(options, records);
    for (const tree of values.values()) controllers.#store(tree, true);
    return controllers;
  }

  /** What is stored, by kind, namespace and name. */
  list(): WorkloadTree[] {
    return [...this.#trees.keys()].sort().map((key) => this.#trees.get(key)!.tree);
  }

  /** The objects of manifests as they are written there, with their sources. */
  roots(): { readonly source: string; readonly object: ControlledWorkload }[] {
    return this.list().map(({ source, root, written }) => ({ source, object: written ?? root.object }));
  }

  /** The claims of manifests, and those that StatefulSets have now, with their sources. */
  claims(): DeclaredClaim[] {
    const delivered = [...this.#sources].map(([source, { delivery }]) => ({ source, ...delivery }));
    return declaredClaims(delivered, this.list());
  }

  /** The Jobs and CronJobs of manifests, each with its end. */
  jobEnds(): JobEnd[] {
    const roots = this.list().map(({ root }) => root);
    return roots.filter(({ object: { kind } }) => kind === 'Job' || kind === 'CronJob').map(toJobEnd);
  }

  /** All workloads as an API shows them, in the order of kinds and names. */
  objects(): V1Workload[] {
    const { clock, progressOf } = this.#options;
    return [...this.#trees.keys()].sort().flatMap((key) => {
      const { tree } = this.#trees.get(key)!;
      return toV1Workloads(tree, {
        nowMs: clock.now(),
        progressOf: (record, entry) => progressOf(this.#podOf(record, entry, tree.source)),
      });
    });
  }

  /** Takes what a source wants now. Takes effect at once for pods of records; never waits, never throws. */
  deliver(name: string, delivery: WorkloadDelivery): void {
    const wanted = new Set(controlled(delivery.workloads).map((each) => keyOf(name, each)));
    const isSettled = this.#treesOf(name).length + wanted.size === 0;
    this.#sources.set(name, { delivery, isSettled, isTaken: isSettled, wanted });
    for (const workload of delivery.workloads) {
      if (workload.kind === 'PersistentVolumeClaim') this.#options.onClaim(workload.metadata, workload.spec);
    }
    this.#hand(name);
    if (isSettled) return;
    for (const [key] of this.#treesOf(name)) this.#dirty.add(key);
    this.#wakeup.wake();
  }

  /**
   * Changes a workload of a manifest beside the manifest, until that says something else. Resolves once that is on the
   * disk; with false if there is no such workload. Rejects if it cannot be written.
   */
  async change(
    kind: ControlledKind,
    { namespace, name }: { readonly namespace: string; readonly name: string },
    change: (object: ControlledWorkload) => ControlledWorkload,
  ): Promise<boolean> {
    const found = [...this.#trees].find(([key, { tree }]) => {
      const { metadata, kind: itsKind } = tree.root.object;
      const isIt = itsKind === kind && metadata.namespace === namespace && metadata.name === name;
      return isIt && this.#isWanted(key);
    });
    if (found === undefined) return false;
    return new Promise((resolve, reject) => {
      this.#changes.push({ key: found[0], change, resolve, reject });
      this.#wakeup.wake();
    });
  }

  /** Something has become of pods: their workloads are looked after soon. Without a uid: of all. */
  podsChanged(uid?: string): void {
    for (const [key, { tree }] of this.#trees) {
      if (uid === undefined || recordsOf(tree).some(({ pods }) => pods.some((each) => each.uid === uid)))
        this.#dirty.add(key);
    }
    if (this.#dirty.size > 0) this.#wakeup.wake();
  }

  /** Looks after workloads until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      while (!signal.aborted) {
        await this.settle();
        const due = [...this.#trees].filter(([key]) => this.#isWanted(key)).map(([, { dueMs }]) => dueMs);
        const dueMs = Math.min(Infinity, ...due);
        const delayMs = Math.min(MAX_SLEEP_MS, Math.max(1, dueMs - clock.now()));
        await this.#wakeup.wait(clock, this.#trees.size === 0 ? undefined : delayMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Does all that is to be done now. Never rejects. */
  async settle(): Promise<void> {
    const { clock } = this.#options;
    const changed = new Set<string>();
    for (const name of this.#sources.keys()) {
      if (await this.#takeWorkloads(name)) changed.add(name);
    }
    for (const each of this.#changes.splice(0)) {
      const source = await this.#change(each);
      if (source !== undefined) changed.add(source);
    }
    const nowMs = clock.now();
    for (const [key, stored] of [...this.#trees]) {
      if (!this.#isWanted(key) || (!this.#dirty.delete(key) && nowMs < stored.dueMs)) continue;
      if (await this.#reconcile(key, stored)) changed.add(stored.tree.source);
    }
    for (const name of changed) this.#hand(name);
  }

  /** Makes trees of new workloads, changes those of edited ones, and removes those that are gone. */
  async #takeWorkloads(name: string): Promise<boolean> {
    const source = this.#sources.get(name)!;
    if (source.isSettled) return false;
    const { delivery, wanted } = source;
    let isWritten = true;
    for (const object of controlled(delivery.workloads)) {
      const key = keyOf(name, object);
      const known = this.#trees.get(key);
      if (known === undefined) this.#store(this.#newTree(name, object), false);
      else if (!isDeepStrictEqual(known.tree.written ?? known.tree.root.object, object)) {
        const tree = structuredClone(known.tree);
        delete tree.written;
        tree.root.object = object;
        tree.root.generation++;
        isWritten = (await this.#write(known, tree)) && isWritten;
      } else continue;
      this.#dirty.add(key);
    }
    for (const [key, stored] of this.#treesOf(name)) {
      if (wanted.has(key) || !delivery.isComplete) continue;
      isWritten = (await this.#remove(key, stored)) && isWritten;
    }
    source.isTaken = true;
    source.isSettled = isWritten;
    return true;
  }

  async #change({ key, change, resolve, reject }: PendingChange): Promise<string | undefined> {
    const stored = this.#trees.get(key);
    if (stored === undefined) {
      resolve(false);
      return undefined;
    }
    const tree = structuredClone(stored.tree);
    const written = tree.written ?? tree.root.object;
    const object = change(tree.root.object);
    if (isDeepStrictEqual(object, written)) delete tree.written;
    else tree.written = written;
    if (!isDeepStrictEqual(object, tree.root.object)) tree.root.generation++;
    tree.root.object = object;
    if (!(await this.#write(stored, tree))) {
      const why = `cannot be written to the disk: ${messageOf(stored.failure)}`;
      reject(new Error(`the record of the ${nameOfWorkload(object)} ${why}`, { cause: stored.failure }));
      return undefined;
    }
    this.#dirty.add(key);
    resolve(true);
    return tree.source;
  }

  #newTree(source: string, object: ControlledWorkload): WorkloadTree {
    const { newUid, clock } = this.#options;
    const root: WorkloadRecord = {
      ...{ uid: newUid(), createdAtMs: clock.now(), generation: 1, object },
      ...{ revisions: {}, pods: [], progress: {} },
    };
    return { source, root, owned: [] };
  }

  /** Returns whether what pods are wanted may have changed. */
  async #reconcile(key: string, stored: Stored): Promise<boolean> {
    const { clock, random, newUid, progressOf, onEvent, logger } = this.#options;
    const { source } = stored.tree;
    const tree = structuredClone(stored.tree);
    // Each once, however many rounds it takes.
    const events = new Map<string, readonly [WorkloadRecord, WorkloadEvent]>();
    let dueMs = Infinity;
    const recordOf = new Map(
      recordsOf(tree).flatMap((each) => each.pods.map(({ uid }) => [uid, each] as const)),
    );
    try {
      reconcileTree(tree, {
        ...{ nowMs: clock.now(), random, newUid },
        progressOf: (entry) => {
          const record = recordOf.get(entry.uid);
          // Of what is just being made nothing is known.
          return record === undefined ? NOTHING_YET : progressOf(this.#podOf(record, entry, source));
        },
        emit: (about, event) => events.set(JSON.stringify([about.uid, event]), [about, event]),
        callAt: (timeMs) => (dueMs = Math.min(dueMs, timeMs)),
      });
    } catch (error) {
      logger.error('Workload cannot be looked after', error, { workload: nameOfWorkload(tree.root.object) });
      stored.dueMs = clock.now() + RETRY_MS;
      return false;
    }
    stored.dueMs = dueMs;
    const isChanged = !stored.isStored || !isDeepStrictEqual(tree, stored.tree);
    if (isChanged && !(await this.#write(stored, tree))) {
      this.#dirty.add(key);
      return false;
    }
    for (const [about, event] of events.values()) onEvent(about, event);
    return isChanged;
  }

  /** Returns whether it is on the disk. Logs a failure once until it is. */
  async #write(stored: Stored, tree: WorkloadTree): Promise<boolean> {
    const { clock, logger } = this.#options;
    try {
      await makeFolder(this.#records.path, 0o700);
      await stored.file.write(tree);
    } catch (error) {
      if (stored.failure === undefined) {
        logger.error('Record of a workload cannot be written, it stays as it is', error, {
          workload: nameOfWorkload(tree.root.object),
        });
      }
      stored.failure = error;
      stored.dueMs = clock.now() + RETRY_MS;
      return false;
    }
    stored.tree = tree;
    stored.isStored = true;
    delete stored.failure;
    return true;
  }

  async #remove(key: string, stored: Stored): Promise<boolean> {
    try {
      await stored.file.remove();
    } catch (error) {
      const workload = nameOfWorkload(stored.tree.root.object);
      this.#options.logger.error('Record of a workload cannot be removed', error, { workload });
      return false;
    }
    this.#trees.delete(key);
    return true;
  }

  #isWanted(key: string): boolean {
    return [...this.#sources.values()].some(({ wanted }) => wanted.has(key));
  }

  #store(tree: WorkloadTree, isStored: boolean): void {
    const key = keyOf(tree.source, tree.root.object);
    const file = this.#records.fileOf(fileNameOf(key));
    this.#trees.set(key, { tree, file, dueMs: 0, isStored });
  }

  #treesOf(source: string): [string, Stored][] {
    return [...this.#trees].filter(([, { tree }]) => tree.source === source);
  }

  /** Hands on what a source wants together with the pods of its records. */
  #hand(name: string): void {
    const source = this.#sources.get(name);
    if (source === undefined) return;
    const { delivery, isTaken } = source;
    const made = this.#treesOf(name).flatMap(([, { tree }]) =>
      recordsOf(tree).flatMap((record) =>
        record.pods
          .filter(({ deletedAtMs, isGone }) => deletedAtMs === undefined && isGone !== true)
          .map((entry) => this.#podOf(record, entry, name)),
      ),
    );
    this.#forgetPods();
    for (const [, { tree }] of this.#treesOf(name)) {
      for (const { namespace, name: claim, spec } of claimsOf(tree.root))
        this.#options.onClaim({ namespace, name: claim }, spec);
    }
    const hasAll = isTaken && !this.#treesOf(name).some(([, { isStored }]) => !isStored);
    delivery.hand([...delivery.pods, ...made], delivery.isComplete && hasAll);
  }

  /** The same object as long as the entry is the same. */
  #podOf(record: WorkloadRecord, entry: WorkloadRecord['pods'][number], source: string): NodePod {
    const known = this.#pods.get(entry.uid);
    if (known !== undefined) return known;
    const pod = makePod(record, entry, { source, nodeName: this.#options.nodeName });
    this.#pods.set(entry.uid, pod);
    return pod;
  }

  #forgetPods(): void {
    const trees = [...this.#trees.values()].flatMap(({ tree }) => recordsOf(tree));
    const uids = new Set(trees.flatMap(({ pods }) => pods.map(({ uid }) => uid)));
    for (const uid of this.#pods.keys()) if (!uids.has(uid)) this.#pods.delete(uid);
  }
}

const NOTHING_YET: PodProgress = {
  ...{ end: undefined, isRunning: false, readySinceMs: undefined, restarts: 0, isStopped: false },
  ...{ isGone: false, exitCodes: {}, conditions: {} },
};

function controlled(workloads: readonly Workload[]): ControlledWorkload[] {
  return workloads.filter((each): each is ControlledWorkload => {
    return each.kind !== 'Service' && !UNCONTROLLED_KINDS.has(each.kind);
  });
}

/** Kinds that have no pods, and of which nothing is to be seen here. */
export const UNCONTROLLED_KINDS: ReadonlySet<Workload['kind']> = new Set([
  ...(['PersistentVolumeClaim', 'Namespace', 'ServiceAccount'] as const),
]);

function keyOf(source: string, { kind, metadata }: ControlledWorkload): string {
  return `${kind} ${metadata.namespace}/${metadata.name} ${source}`;
}

function fileNameOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}
