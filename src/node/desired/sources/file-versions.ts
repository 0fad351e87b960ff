import { createHash } from 'node:crypto';
import { fullName } from '../arbitrate-pods.js';
import { aboutWhole, type ConfigProblem } from '../config-problem.js';
import { type FileClaim, FileHolders } from './file-holders.js';
import { type Holding, holdingNames, isSameHolding, NOTHING } from './file-holding.js';
import { type Held, heldName, type MergedHeld, mergeHeld } from './held.js';
import { type KeptVersions, type LastGood, type LastGoodStore } from './last-good-store.js';
import { type FileContent } from './manifest-folder.js';
import { type ManifestProblem } from '../manifests/manifest-problem.js';
import { type AppliedObject } from '../manifests/manifest-writer.js';
import { type ManifestParser } from '../manifests/parse-manifest.js';
import { type ReadVerdict } from './retry-times.js';
import { keepObjects, type SourceObject } from '../manifests/source-object.js';
import { keepPods, type ParsedManifest, refuseNewPods, type SourcePod } from '../manifests/source-pod.js';

/** What {@link FileVersions} needs. */
export interface FileVersionsOptions {
  readonly source: string;
  readonly nodeName: string;
  readonly parser: ManifestParser;
  readonly store: LastGoodStore;
  /** The name of a file in messages. */
  readonly locate: (origin: string, name: string) => string;
}

/** The contents of all files together. */
export interface MergedFiles {
  readonly pods: readonly SourcePod[];
  readonly objects: readonly SourceObject[];
  readonly problems: readonly ConfigProblem[];
}

/** Behind all others: another file has it, and is still to be read. */
const REFUSED = 9;

interface FileVersion {
  /** Of the last parsed content; empty before. */
  digest: string;
  holding: Holding;
  problems: readonly ConfigProblem[];
  /** As on disk; undefined when there is nothing. */
  saved: Holding | undefined;
  /** Of the content, while it has no problems. */
  goodDigest: string | undefined;
  /** As on disk. */
  savedDigest: string | undefined;
  /** Names of what another file has, as on disk. */
  savedRefused: string;
  /** It is what the previous agent found good; nobody has parsed it since the start. */
  isConfirmed: boolean;
  /** It was parsed since the start, with or without problems. */
  isRead: boolean;
}

/**
 * The files of a folder, with the pods and objects of their newest good versions, and their present problems.
 *
 * A URL is a file without a name.
 */
export class FileVersions {
  readonly #options: FileVersionsOptions;
  readonly #files = new Map<string, FileVersion>();
  #origin = '';
  #kept: KeptVersions = { versions: [], isLost: () => false, faults: [] };
  readonly #holders = new FileHolders();
  #saveFaults: ReadonlyMap<string, string> = new Map();

  constructor(options: FileVersionsOptions) {
    this.#options = options;
  }

  /** The known files, from disk or from a reading. */
  get names(): readonly string[] {
    return [...this.#files.keys()].sort();
  }

  /** The full names of all pods and objects, for messages. */
  get heldNames(): readonly string[] {
    return [...this.#files.values()].flatMap(({ holding }) => holdingNames(holding));
  }

  /** The file with an object; `name` as written. */
  findFile({ kind, namespace, name }: AppliedObject): string | undefined {
    const isIt = (held: Held): boolean => {
      const { metadata } = 'pod' in held ? held.pod : held.object;
      const [heldKind, written] = 'pod' in held ? ['Pod', held.name] : [held.object.kind, metadata.name];
      return heldKind === kind && written === name && metadata.namespace === namespace;
    };
    return [...this.#files.keys()].find((file) =>
      this.#heldBy(file).some((held) => isIt(held) && !this.#holders.isRefused({ file, held })),
    );
  }

  /** True while a file is bad and its last good version was lost: its contents are unknown then. */
  get hasLost(): boolean {
    return [...this.#files].some(
      ([name, { problems, saved }]) =>
        problems.length > 0 && saved === undefined && this.#kept.isLost(this.#origin, name),
    );
  }

  /** True when anything stored was lost, of any file. */
  get hasFaults(): boolean {
    return this.#kept.faults.length > 0;
  }

  /** True while a good version could not be written to disk. */
  get hasUnsaved(): boolean {
    return this.#saveFaults.size > 0;
  }

  /** Restores the stored versions of the files of a folder. */
  restore(kept: KeptVersions, origin: string, onlyName?: string): void {
    this.#kept = kept;
    this.#origin = origin;
    // By name, as records of earlier podloops do not say which of two files has a pod or an object.
    for (const version of [...kept.versions].sort((one, other) => (one.name < other.name ? -1 : 1))) {
      if (version.origin !== origin || (onlyName !== undefined && version.name !== onlyName)) continue;
      const { name, pods, objects, digest, refused = [] } = version;
      for (const held of [...pods, ...objects])
        if (!refused.includes(heldName(held))) this.#holders.add({ file: name, held });
      const holding = { pods, objects };
      const savedRefused = refused.join(' ');
      const kept = { saved: holding, savedDigest: digest, goodDigest: digest, savedRefused };
      this.#files.set(name, {
        digest: '',
        holding,
        problems: [],
        ...kept,
        isRead: false,
        isConfirmed: false,
      });
    }
  }

  /** The files that were restored, not read yet, and have a known digest. */
  get unconfirmed(): readonly string[] {
    const isUnread = ({ isRead, savedDigest }: FileVersion): boolean => !isRead && savedDigest !== undefined;
    return this.names.filter((name) => isUnread(this.#files.get(name)!));
  }

  /**
   * Accepts a file with exactly the bytes of its last good version as read: until it is parsed, that version
   * stays.
   */
  confirm(name: string, bytes: Uint8Array): void {
    const file = this.#files.get(name);
    if (file === undefined || file.isRead || file.savedDigest !== digestOf(bytes)) return;
    [file.isRead, file.isConfirmed] = [true, true];
  }

  /** Whether a file was confirmed and is still to be parsed. */
  isConfirmed(name: string): boolean {
    return this.#files.get(name)?.isConfirmed === true;
  }

  /** Sets the folder of the files. */
  moveTo(folder: string): void {
    this.#origin = folder;
  }

  /**
   * Parses what was read of a file. `isMissing` checks whether another file is missing. Rejects when aborted.
   */
  async read(
    name: string,
    content: Exclude<FileContent, { kind: 'moved' }>,
    isMissing: (name: string) => boolean,
    signal: AbortSignal,
  ): Promise<ReadVerdict> {
    const path = this.#pathOf(name);
    if (content.kind === 'unreadable') {
      this.#keepAll(name, `cannot be read: ${content.why}`);
      return 'unreadable';
    }
    const digest = digestOf(content.bytes);
    const before = this.#files.get(name);
    if (before?.digest === digest) return 'judged';
    const { source, nodeName, parser } = this.#options;
    const request = { bytes: content.bytes, file: path, origin: { source, nodeName } };
    const outcome = await parser.parse(request, signal);
    if (outcome.kind === 'gave-up') {
      this.#keepAll(name, outcome.why);
      return 'gave-up';
    }
    const renamed = before === undefined ? this.#findRenamed(digest, isMissing) : undefined;
    if (renamed !== undefined) this.#holders.rename(renamed.name, name);
    const manifest = refuseNewPods(outcome.manifest, (pod) => this.#isKnown(pod));
    this.#judge(name, digest, before ?? renamed?.file, manifest);
    return 'judged';
  }

  /** Reports a file that keeps changing. */
  complainOfRestless(name: string): void {
    this.#keepAll(name, 'is written to again and again, and is read once that ends');
  }

  /** These files do not exist any more. */
  forget(names: readonly string[]): void {
    for (const name of names) this.#files.delete(name);
  }

  /**
   * The pods and objects of all files in the order of their names, those of missing files last.
   *
   * So what is renamed is found under its new name. Without `withUnread`, only what was parsed since the
   * start. Each stays with the file that had it first, as long as that file may still have it.
   */
  merge(isMissing: (name: string) => boolean, withUnread: boolean): MergedFiles {
    const names = this.names.filter((name) => withUnread || this.#files.get(name)!.isRead);
    const holdings = (some: readonly string[]): Holding[] =>
      some.map((name) => this.#files.get(name)!.holding);
    const present = holdings(names.filter((name) => !isMissing(name)));
    const missing = holdings(names.filter(isMissing));
    const isRead = new Set(names);
    const fileOf = new Map(names.flatMap((file) => this.#heldBy(file).map((held) => [held, file] as const)));
    const rankOf = (held: Held): number => this.#rankOf({ file: fileOf.get(held)!, held }, isRead, isMissing);
    const merge = <Each extends Held>(listOf: (holding: Holding) => readonly Each[]): MergedHeld<Each> => {
      const { held, problems } = mergeHeld(present.map(listOf), rankOf);
      // What is about to be forgotten is no problem.
      const merged = mergeHeld([held, ...missing.map(listOf)], rankOf).held;
      // The contents of an unread file are unknown.
      return { held: merged.filter((each) => rankOf(each) < REFUSED), problems };
    };
    const [pods, objects] = [merge((holding) => holding.pods), merge((holding) => holding.objects)];
    this.#holders.settle(
      [...pods.held, ...objects.held].map((held) => ({ file: fileOf.get(held)!, held })),
      (file) => this.#files.has(file) && !isRead.has(file) && !isMissing(file),
    );
    const twins = [...pods.problems, ...objects.problems].map((problem) => this.#toConfig(problem));
    return { pods: pods.held, objects: objects.held, problems: [...this.#problems(), ...twins] };
  }

  /** The turn of a file among those that want the same. */
  #rankOf(claim: FileClaim, isRead: ReadonlySet<string>, isMissing: (name: string) => boolean): number {
    if (!isMissing(claim.file)) {
      if (this.#holders.has(claim)) return 0;
      const holder = this.#holders.find(claim.held);
      const isStillToRead = holder !== undefined && this.#files.has(holder) && !isRead.has(holder);
      return isStillToRead && !isMissing(holder) ? REFUSED : 2;
    }
    // It may have been renamed. Then it is found under its new name, even if a copy is already there.
    // Otherwise it is wanted until it is known to be missing.
    return this.#holders.has(claim) ? 1 : 3;
  }

  #heldBy(file: string): readonly Held[] {
    const { pods, objects } = this.#files.get(file)?.holding ?? NOTHING;
    return [...pods, ...objects];
  }

  #refusedOf(file: string): string[] {
    return this.#heldBy(file)
      .filter((held) => this.#holders.isRefused({ file, held }))
      .map(heldName);
  }

  /** Writes what is good and new to disk, with the owners as of the last {@link merge}. Never rejects. */
  async save(): Promise<void> {
    const due = [...this.#files].filter(([name, file]) => {
      const { holding, problems, saved } = file;
      const holdsNothing = holding.pods.length + holding.objects.length === 0;
      if (saved === undefined && holdsNothing && problems.length > 0) return false;
      if (saved === undefined || this.#saveFaults.has(name) || !isSameHolding(saved, holding)) return true;
      if (file.goodDigest !== undefined && file.goodDigest !== file.savedDigest) return true;
      if (this.#refusedOf(name).join(' ') !== file.savedRefused) return true;
      file.saved = holding;
      return false;
    });
    if (due.length === 0) return;
    const versions = due.map(([name, { holding, goodDigest }]): LastGood => ({
      ...{ origin: this.#origin, name, ...holding, digest: goodDigest, refused: this.#refusedOf(name) },
    }));
    this.#saveFaults = await this.#options.store.save(versions);
    for (const [name, file] of due) {
      if (this.#saveFaults.has(name)) continue;
      [file.saved, file.savedDigest] = [file.holding, file.goodDigest];
      file.savedRefused = this.#refusedOf(name).join(' ');
    }
  }

  #judge(name: string, digest: string, before: FileVersion | undefined, manifest: ParsedManifest): void {
    const held = before?.holding ?? NOTHING;
    const isBroken = manifest.problems.length > 0;
    const { objects, ...kept } = keepObjects(held.objects, manifest.objects, isBroken);
    const all = [...manifest.problems, ...kept.problems];
    const { pods, kept: keptPods } = keepPods(held.pods, { pods: manifest.pods, problems: all });
    const names = [...keptPods, ...kept.kept];
    const problems = all.map((problem, index) => this.#toConfig(problem, index === 0 ? names : []));
    const { saved, savedDigest, savedRefused = '' } = this.#files.get(name) ?? {};
    // The text of a URL may change with each answer without a change of meaning: not worth a write each time.
    const goodDigest = problems.length === 0 && name !== '' ? digest : undefined;
    this.#files.set(name, {
      ...{ digest, holding: { pods, objects }, problems, saved, goodDigest, savedDigest },
      ...{ isRead: true, isConfirmed: false, savedRefused },
    });
  }

  #keepAll(name: string, message: string): void {
    const before = this.#files.get(name);
    const holding = before?.holding ?? NOTHING;
    const kept = holdingNames(holding);
    const problem = aboutWhole(this.#options.source, this.#pathOf(name), 'unreadable', message, kept);
    this.#files.set(name, {
      ...{ digest: '', holding, problems: [problem], goodDigest: undefined },
      ...{ saved: before?.saved, savedDigest: before?.savedDigest, isRead: true, isConfirmed: false },
      savedRefused: before?.savedRefused ?? '',
    });
  }

  /** A pod that moves to another file is not new. */
  #isKnown(pod: SourcePod['pod']): boolean {
    const name = fullName(pod);
    return [...this.#files.values()].some(({ holding }) =>
      holding.pods.some((each) => fullName(each.pod) === name),
    );
  }

  /** The same content under a name that is gone: its contents move along, even if it is broken. */
  #findRenamed(
    digest: string,
    isMissing: (name: string) => boolean,
  ): { readonly name: string; readonly file: FileVersion } | undefined {
    for (const [name, file] of this.#files) {
      if (file.digest === digest && isMissing(name)) return { name, file };
    }
    return undefined;
  }

  #problems(): ConfigProblem[] {
    const { source } = this.#options;
    const faults = [...this.#saveFaults].map(([name, fault]) =>
      aboutWhole(source, this.#pathOf(name), 'not-kept', `its last good version cannot be stored: ${fault}`),
    );
    const origin = this.#options.locate(this.#origin, '');
    const lost = this.#kept.faults.map((fault) => aboutWhole(source, origin, 'not-kept', fault));
    return [...[...this.#files.values()].flatMap(({ problems }) => problems), ...faults, ...lost];
  }

  #pathOf(name: string): string {
    return this.#options.locate(this.#origin, name);
  }

  #toConfig(problem: ManifestProblem, kept: readonly string[] = []): ConfigProblem {
    return { ...problem, source: this.#options.source, kept };
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
