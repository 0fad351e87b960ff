/**
 * Pods, ConfigMaps and Secrets from a folder of manifests, or from a single file.
 *
 * In: files, read when something happens in the folder, and every 20 s in any case. Out: all of their
 * contents, delivered to a {@link PodSourcePort}; their problems, in a {@link ProblemBook}.
 *
 * It assumes that people and tools write files in steps, by removing and creating, or by renaming. So a
 * change counts only once it was stable for a moment (steady-files.ts), unless the file was moved here as a
 * whole. While a file or folder is unreadable or invalid, its last good version stays, even over a restart of
 * the agent (file-versions.ts). Only a file that is known to be missing takes its pods along.
 *
 * @module
 */
import { basename, dirname, join, resolve } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { sourceLookEnded } from '#base/channels/config-channels.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { Wakeup } from '#base/async/wakeup.js';
import { BoundedWait } from './bounded-wait.js';
import { aboutWhole } from '../config-problem.js';
import { FileVersions, type MergedFiles } from './file-versions.js';
import { DeferredRemovals, type Search } from './deferred-removals.js';
import { holdPods } from '../hold-pods.js';
import { LastGoodStore } from './last-good-store.js';
import {
  type FileContent,
  type FolderLook,
  type ManifestFiles,
  ManifestFolder,
  type PresentLook,
} from './manifest-folder.js';
import { type AppliedObject } from '../manifests/manifest-writer.js';
import { type ManifestParser } from '../manifests/parse-manifest.js';
import { type PodSourcePort } from '../pod-config.js';
import { type ProblemBook } from '../problem-book.js';
import { RetryTimes } from './retry-times.js';
import { StableFiles } from './stable-files.js';
import { FolderWatch } from './folder-watch.js';
import { watchFolder, type WatchFolder } from './watch-folder.js';

/** What a {@link FileSource} needs. */
export interface FileSourceOptions extends Publisher {
  /** A folder, or a file. It need not exist yet. */
  readonly path: string;
  readonly nodeName: string;
  readonly port: PodSourcePort;
  readonly problems: ProblemBook;
  readonly parser: ManifestParser;
  /** Where last good versions are stored; created when it is missing. */
  readonly lastGoodFolder: string;
  readonly clock: Clock;
  readonly logger?: Logger;
  /**
   * Time between readings when nothing happens, in milliseconds (default: 20 s, like a kubelet's
   * fileCheckFrequency).
   */
  readonly fileCheckFrequencyMs?: number;
  /** How long a change has to be stable to count, in milliseconds (default: 200 ms). */
  readonly settleMs?: number;
  /** Default: the disk. */
  readonly files?: ManifestFiles;
  readonly watch?: WatchFolder;
}

/** `file`: the source of deliveries and problems, and part of the uid of its pods. */
export const FILE_SOURCE = 'file';

/** A disk that has not answered by then is reported as hanging. */
const ANSWER_DEADLINE_MS = 10_000;
/** Events in a folder within this time are read together. */
const BETWEEN_LOOKS_MS = 25;
/** How often to check for a missing folder. */
const MISSING_LOOK_MS = 1_000;
/** With many or large files, what was read is delivered meanwhile. */
const DELIVER_EVERY_MS = 200;
/** Files that are read in parallel at the start; they share {@link ANSWER_DEADLINE_MS}. */
const CONFIRMED_AT_ONCE = 16;
/** How long the first delivery waits for new or changing files. */
const HOLD_FIRST_MS = 2_000;
/** Watches manifests and delivers their pods. */
export class FileSource {
  readonly #options: Required<Omit<FileSourceOptions, 'channels'>> & Publisher;
  readonly #steady: StableFiles;
  readonly #store: LastGoodStore;
  readonly #versions: FileVersions;
  readonly #disk: BoundedWait;
  readonly #wakeup = new Wakeup();
  readonly #retries: RetryTimes;
  readonly #absences = new DeferredRemovals();
  readonly #watch: FolderWatch;
  #others: ReadonlySet<string> = new Set();
  /** Uids of pods that were dumped from a cluster. */
  #dumped: ReadonlySet<string> = new Set();
  /** Of the pods of the last delivery. */
  #handedUids: ReadonlySet<string> = new Set();
  #wasFile = false;
  #startedMs = 0;
  #isComplete = false;
  #hasConfirmed = false;
  #hasHandedAll = false;
  /** The reading after which nothing was left to do, and its result: an equal reading needs no more work. */
  #settled: { readonly look: PresentLook; readonly merged: MergedFiles } | undefined;

  constructor(options: FileSourceOptions) {
    const defaults = {
      logger: SILENT_LOGGER,
      fileCheckFrequencyMs: 20_000,
      settleMs: 200,
      watch: watchFolder,
    };
    const path = resolve(options.path);
    this.#options = { files: new ManifestFolder(path), ...defaults, ...options, path };
    const { settleMs, fileCheckFrequencyMs, clock, nodeName, parser, lastGoodFolder: folder } = this.#options;
    this.#steady = new StableFiles({ settleMs, patienceMs: fileCheckFrequencyMs });
    this.#store = new LastGoodStore({ folder, source: FILE_SOURCE, nodeName });
    this.#versions = new FileVersions({
      ...{ source: FILE_SOURCE, nodeName, parser, store: this.#store, locate: join },
    });
    this.#disk = new BoundedWait(clock, ANSWER_DEADLINE_MS);
    this.#retries = new RetryTimes(fileCheckFrequencyMs);
    const { watch, logger } = this.#options;
    this.#watch = new FolderWatch({ watch, logger, onChange: () => this.#wakeup.wake() });
  }

  /** Reads and delivers until the signal aborts; then resolves. Once. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      await this.#restore();
      this.#startedMs = clock.monotonicMs();
      while (!signal.aborted) {
        const nextLookInMs = await this.#look(signal);
        const endedMs = clock.monotonicMs();
        await this.#wakeup.wait(clock, nextLookInMs, signal);
        // The first event after a quiet time is handled without delay.
        await clock.sleep(Math.max(0, BETWEEN_LOOKS_MS - (clock.monotonicMs() - endedMs)), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#watch.close();
    }
  }

  /** The name of the file with an object, as of the last reading. */
  findFile(object: AppliedObject): string | undefined {
    return this.#versions.findFile(object);
  }

  async #restore(): Promise<void> {
    const { path, clock } = this.#options;
    const kept = await this.#store.load();
    const [folder, name] = [dirname(path), basename(path)];
    this.#wasFile =
      kept.versions.some((each) => each.origin === folder && each.name === name) &&
      !kept.versions.some(({ origin }) => origin === path);
    if (this.#wasFile) this.#versions.restore(kept, folder, name);
    else this.#versions.restore(kept, path);
    for (const each of this.#versions.names) this.#steady.expect(each, clock.monotonicMs());
  }

  /** Reads once; returns in how many milliseconds the next reading is due. */
  async #look(signal: AbortSignal): Promise<number> {
    const { files, clock, fileCheckFrequencyMs } = this.#options;
    const startedMs = clock.monotonicMs();
    let look: FolderLook;
    try {
      look = await this.#disk.call(async () => files.look(this.#wasFile), signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#unseen(`cannot be read: ${messageOf(error)}`, startedMs);
      return fileCheckFrequencyMs;
    }
    if (look.kind === 'missing') {
      // No file was known to be missing: the disk may not be mounted.
      this.#isComplete ||= !this.#versions.hasFaults;
      this.#unseen('does not exist; it is read once it does', startedMs);
      return Math.min(MISSING_LOOK_MS, fileCheckFrequencyMs);
    }
    return this.#seen(look, startedMs, signal);
  }

  async #seen(look: PresentLook, startedMs: number, signal: AbortSignal): Promise<number> {
    const { settleMs, fileCheckFrequencyMs, problems } = this.#options;
    this.#wasFile = look.onlyName !== undefined;
    this.#versions.moveTo(look.folder);
    this.#watch.follow(look);
    this.#logOthers(look);
    if (!this.#hasConfirmed) await this.#confirmKept(look, signal);
    this.#hasConfirmed = true;
    const retried = this.#retries.takeDue(startedMs);
    if (retried.length === 0 && this.#isSettled(look)) {
      this.#publishEnd(startedMs, 0, this.#settled!.merged, undefined);
      return fileCheckFrequencyMs;
    }
    this.#settled = undefined;
    for (const name of retried) this.#steady.release(name);
    const signs = new Map([...look.files].map(([name, { sign }]) => [name, sign]));
    const seen = this.#steady.look(startedMs, signs, await this.#movedHere(look));
    const { parsed, moved, left } = await this.#readAll(look, seen.steady, signal);
    for (const name of seen.restless) this.#versions.complainOfRestless(name);
    this.#versions.forget(seen.gone);
    this.#retries.forget(seen.gone);
    const nextLookInMs = Math.min(
      seen.nextLookInMs ?? Infinity,
      fileCheckFrequencyMs,
      moved ? settleMs : Infinity,
    );
    const isSettling =
      moved ||
      seen.unsettled.some((name) => !seen.restless.includes(name) && !this.#versions.isConfirmed(name));
    // The version from before the start may be about to be replaced or removed.
    const isHeld = !this.#isComplete && (isSettling || seen.leaving.length > 0);
    if (isHeld && startedMs - this.#startedMs < HOLD_FIRST_MS) return nextLookInMs;
    const isFirst = !this.#isComplete && !isSettling && !this.#versions.hasLost;
    this.#isComplete ||= isFirst;
    const isChanging = moved || seen.nextLookInMs !== undefined;
    const merged = await this.#deliver(look, true, isChanging ? 'changing' : 'over');
    this.#hasHandedAll = true;
    problems.report(FILE_SOURCE, merged.problems);
    if (this.#isComplete && (isFirst || seen.gone.length > 0)) {
      await this.#store.prune(look.folder, this.#versions.names);
    }
    const isQuiet = seen.steady.length === 0 && seen.gone.length === 0 && seen.nextLookInMs === undefined;
    if (isQuiet && !isSettling && this.#isComplete && !this.#versions.hasUnsaved) {
      this.#settled = { look, merged };
    }
    this.#publishEnd(startedMs, parsed, merged, undefined);
    return left ? 0 : nextLookInMs;
  }

  /** Every file is as it was when it was read, and all of their contents were delivered. */
  #isSettled({ folder, onlyName, files }: PresentLook): boolean {
    const before = this.#settled?.look;
    return before?.files === files && before.folder === folder && before.onlyName === onlyName;
  }

  /** The files that came with this reading and were not written in place, and are therefore complete. */
  async #movedHere({ files }: PresentLook): Promise<ReadonlySet<string>> {
    // Events of earlier writes have arrived by then: they are read once in each turn of the loop.
    for (let turn = 0; turn < 2; turn++) await immediate();
    const arrivals = [...this.#watch.takeArrivals()];
    return new Set(
      arrivals.filter((name) => {
        const found = files.get(name);
        return found !== undefined && found.isSole && found.size > 0;
      }),
    );
  }

  /**
   * Accepts files that are unchanged since the previous agent at once, without waiting or parsing, so that
   * their pods are known.
   *
   * They are parsed later, when nothing else has to be read.
   */
  async #confirmKept({ folder, files: found }: PresentLook, signal: AbortSignal): Promise<void> {
    const { files } = this.#options;
    const names = this.#versions.unconfirmed.filter((name) => found.has(name));
    const confirm = async (name: string): Promise<void> => {
      const content = await files.read(folder, name);
      if (content.kind === 'read') this.#versions.confirm(name, content.bytes);
    };
    try {
      for (let at = 0; at < names.length; at += CONFIRMED_AT_ONCE) {
        const some = names.slice(at, at + CONFIRMED_AT_ONCE);
        await this.#disk.call(async () => Promise.all(some.map(confirm)), signal);
      }
    } catch {
      // Unreadable files are reported when it is their turn to be parsed.
      signal.throwIfAborted();
    }
  }

  /**
   * Reads small files first, so that a large one does not delay others; confirmed ones last.
   *
   * Of the confirmed ones it reads only what a short time allows: some may be `left` for the next reading.
   */
  async #readAll(
    look: PresentLook,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly parsed: number; readonly moved: boolean; readonly left: boolean }> {
    const { clock } = this.#options;
    const sizeOf = (name: string): number => look.files.get(name)!.size;
    const [known, others]: [string[], string[]] = [[], []];
    for (const name of [...names].sort((one, other) => sizeOf(one) - sizeOf(other))) {
      (this.#versions.isConfirmed(name) ? known : others).push(name);
    }
    let parsed = 0;
    let deliveredMs = clock.monotonicMs();
    for (const name of others) {
      if (await this.#read(look, name, signal)) parsed++;
      if (clock.monotonicMs() - deliveredMs < DELIVER_EVERY_MS) continue;
      await this.#deliver(look, this.#isComplete, 'reading');
      deliveredMs = clock.monotonicMs();
    }
    const moved = parsed < others.length;
    // Nobody waits for these, and everybody would wait for them.
    if (!this.#hasHandedAll) return { parsed, moved, left: known.length > 0 };
    const startedMs = clock.monotonicMs();
    let checked = 0;
    while (checked < known.length && clock.monotonicMs() - startedMs < DELIVER_EVERY_MS) {
      if (await this.#read(look, known[checked++]!, signal)) parsed++;
    }
    return { parsed, moved, left: checked < known.length };
  }

  /** False when the file was changed meanwhile. */
  async #read(look: PresentLook, name: string, signal: AbortSignal): Promise<boolean> {
    const { files, clock, logger } = this.#options;
    const { sign } = look.files.get(name)!;
    logger.info('Reading config file', { path: join(look.folder, name) }, 4);
    let content: FileContent;
    try {
      content = await this.#disk.call(async () => files.read(look.folder, name), signal);
    } catch (error) {
      signal.throwIfAborted();
      content = { kind: 'unreadable', why: messageOf(error) };
    }
    if (content.kind === 'moved' || (content.kind === 'read' && content.sign !== sign)) return false;
    const isMissing = (other: string): boolean => !look.files.has(other);
    const verdict = await this.#versions.read(name, content, isMissing, signal);
    this.#steady.taken(name, sign);
    this.#retries.note(name, verdict, clock.monotonicMs());
    return true;
  }

  async #deliver(look: PresentLook, withUnread: boolean, search: Search): Promise<MergedFiles> {
    const isMissing = (name: string): boolean => !look.files.has(name);
    this.#versions.merge(isMissing, withUnread);
    // First to disk: what starts now must be known when its file is broken at the next start.
    await this.#versions.save();
    const merged = this.#versions.merge(isMissing, withUnread);
    this.#hand(search === 'reading' ? holdPods(merged, this.#handedUids) : merged, search);
    return merged;
  }

  #unseen(message: string, startedMs: number): void {
    const { path, problems } = this.#options;
    this.#settled = undefined;
    const merged = this.#versions.merge(() => false, true);
    const problem = aboutWhole(FILE_SOURCE, path, 'unreadable', message, this.#versions.heldNames);
    problems.report(FILE_SOURCE, [problem, ...merged.problems]);
    this.#hand(merged, 'changing');
    this.#watch.close();
    this.#publishEnd(startedMs, 0, merged, message);
  }

  #hand(merged: MergedFiles, search: Search): void {
    const { pods, objects } = this.#absences.add(merged, search, this.#options.clock.monotonicMs());
    this.#logLeftOut(pods);
    const places = new Map(pods.map(({ pod, place }) => [pod.metadata.uid, place]));
    this.#handedUids = new Set(places.keys());
    this.#options.port.deliver(
      pods.map(({ pod }) => pod),
      {
        isComplete: this.#isComplete,
        placeOf: ({ metadata }) => places.get(metadata.uid),
        objects: objects.map(({ object }) => object),
      },
    );
  }

  /** Logs once for each pod, as long as it is there. */
  #logLeftOut(pods: MergedFiles['pods']): void {
    const dumped = pods.filter(({ leftOut = [] }) => leftOut.length > 0);
    for (const { pod, place, leftOut } of dumped) {
      if (this.#dumped.has(pod.metadata.uid)) continue;
      this.#options.logger.info('Leaving out what a cluster wrote into the manifest of a pod', {
        ...{ pod: `${pod.metadata.namespace}/${pod.metadata.name}`, path: place.file },
        fields: leftOut!.join(', '),
      });
    }
    this.#dumped = new Set(dumped.map(({ pod }) => pod.metadata.uid));
  }

  #logOthers({ folder, others }: PresentLook): void {
    for (const name of others) {
      if (this.#others.has(name)) continue;
      this.#options.logger.info('Ignoring a file that is no manifest by its name or kind', {
        path: join(folder, name),
      });
    }
    this.#others = new Set(others);
  }

  #publishEnd(startedMs: number, parsed: number, merged: MergedFiles, error: string | undefined): void {
    publishTo(this.#options.channels, sourceLookEnded, {
      ...{ source: FILE_SOURCE, durationMs: this.#options.clock.monotonicMs() - startedMs, parsed, error },
      ...{ pods: merged.pods.length, problems: merged.problems.length },
    });
  }
}
