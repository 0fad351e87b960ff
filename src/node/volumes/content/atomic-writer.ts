/**
 * Replaces the files of a volume atomically: readers see all of the old ones or all of the new.
 *
 * ```
 * VOLUME/..2026_11_22_00_50_12.123456789/config.yaml    a generation: the files themselves
 * VOLUME/..data -> ..2026_11_22_00_50_12.123456789      replaced by a rename: the one moment that counts
 * VOLUME/config.yaml -> ..data/config.yaml              one link for each name in the volume, made once
 * ```
 *
 * In: a folder that only the agent writes to, and its desired files. Out: the kubelet's layout, with the
 * names that programs watch. It assumes that nobody else writes to the same volume at the same time. In case
 * somebody does: containers get the volume read-only, its contents are read without following links, and
 * foreign files are removed. A writer that was killed at any point has left the old generation or the new
 * one, and leftovers that the next one removes.
 *
 * Generations that were replaced within the last seconds stay until a later write, so that a slow reader
 * still finds its files.
 *
 * Source:
 * https://kubernetes.io/docs/concepts/configuration/configmap/#mounted-configmaps-are-updated-automatically
 *
 * @module
 */
import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock } from '#base/time/clock.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type ContentFileSystem } from './content-file-system.js';
import { type ContentPayload, toCleanPayload } from './content-payload.js';
import { type VerifiedVolumes } from './verified-volumes.js';
import {
  foldersOf,
  generationName,
  type GenerationPlace,
  generationTimeMs,
  holdsPayload,
  isGenerationName,
  writeGeneration,
} from './generation.js';

/** Options of {@link AtomicWriter}. */
export interface AtomicWriterOptions {
  /** The volume: an existing folder. */
  readonly folder: string;
  /**
   * Identifies the volume's definition, in {@link DEFINITION_DIGITS} digits: with another one, everything is
   * rewritten.
   */
  readonly definition: string;
  /** The group that owns and may read everything; undefined: no change of owner. */
  readonly group?: number | undefined;
  readonly clock: Pick<Clock, 'now'>;
  /** A number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
  /** Remembers verified volumes; without it, each write reads everything. */
  readonly verified?: VerifiedVolumes;
  /** Default: node:fs/promises. */
  readonly files?: ContentFileSystem;
}

/** Length of {@link AtomicWriterOptions.definition}. */
export const DEFINITION_DIGITS = 15;

/** How long a replaced generation stays, and how many of them at most. */
const KEPT_MS = 5_000;
const MAX_GENERATIONS = 8;

/** The link to the present generation, and its temporary name. */
const CURRENT = '..data';
const NEXT = '..data_tmp';
const LINK = '..link_tmp';

/** Writes one volume repeatedly. */
export class AtomicWriter {
  readonly #folder: string;
  readonly #definition: string;
  readonly #group: number | undefined;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #random: () => number;
  readonly #verified: VerifiedVolumes | undefined;
  readonly #files: ContentFileSystem;

  constructor(options: AtomicWriterOptions) {
    const { folder, definition, group, clock, random = Math.random, files = fs } = options;
    this.#verified = options.verified;
    this.#folder = folder;
    this.#definition = definition;
    this.#group = group;
    this.#clock = clock;
    this.#random = random;
    this.#files = files;
  }

  /**
   * Makes the volume contain exactly these files; returns whether its contents have changed.
   *
   * Throws for an invalid path before anything is done. Rejects with the system's error when something cannot
   * be written, and then the volume is unchanged.
   */
  async write(payload: ContentPayload): Promise<boolean> {
    const wanted = toCleanPayload(payload);
    const before = await this.#findCurrent();
    const digest = this.#verified?.digest(wanted);
    if (digest !== undefined && (await this.#stands(digest, wanted, before))) return false;
    if (
      before?.endsWith(this.#definition) === true &&
      (await holdsPayload(this.#files, wanted, this.#place(before)))
    ) {
      const isTidy = await this.#tidy(wanted, before);
      if (digest !== undefined && isTidy) await this.#keep(digest, wanted, before);
      return false;
    }
    const fresh = generationName(this.#clock.now(), this.#random(), this.#definition);
    try {
      await writeGeneration(this.#files, wanted, this.#place(fresh));
      if (before === undefined) await this.#make(CURRENT, fresh, NEXT);
      else await this.#replace(CURRENT, fresh, NEXT);
    } catch (error) {
      // Best effort: the next write removes it as well.
      await this.#clear(fresh).catch(() => undefined);
      throw error;
    }
    const isTidy = await this.#tidy(wanted, fresh, before);
    if (digest !== undefined && isTidy) await this.#keep(digest, wanted, fresh);
    return true;
  }

  /** Whether the volume was verified a while ago, and nobody has touched its folders since. */
  async #stands(digest: string, wanted: ContentPayload, current: string | undefined): Promise<boolean> {
    if (current === undefined) return false;
    const look = await this.#lookAt(wanted, current);
    return look !== undefined && this.#verified!.stands(this.#folder, this.#sumUp(digest), look);
  }

  async #keep(digest: string, wanted: ContentPayload, current: string): Promise<void> {
    const look = await this.#lookAt(wanted, current);
    if (look !== undefined)
      this.#verified!.keep(this.#folder, { digest: this.#sumUp(digest), look, files: wanted.size });
  }

  #sumUp(digest: string): string {
    return `${this.#definition} ${this.#group} ${digest}`;
  }

  /** The state of the folders in which names come and go; undefined when one is no folder. */
  async #lookAt(wanted: ContentPayload, current: string): Promise<string | undefined> {
    const parts = [current];
    const { folder: generation } = this.#place(current);
    const inside = foldersOf(wanted).map((folder) => join(generation, folder));
    for (const folder of [this.#folder, generation, ...inside]) {
      const facts = await this.#files.lstat(folder).catch(() => undefined);
      if (facts?.isDirectory() !== true) return undefined;
      const { ino, mode, gid, mtimeMs, ctimeMs } = facts;
      parts.push([ino, mode, gid, mtimeMs, ctimeMs].join(' '));
    }
    return parts.join('\n');
  }

  /** The definition that the volume was written for; undefined when it was never written completely. */
  async findDefinition(): Promise<string | undefined> {
    return (await this.#findCurrent())?.slice(-DEFINITION_DIGITS);
  }

  /**
   * The name of the present generation; undefined for anything but a link to one, as somebody else has put it
   * there.
   */
  async #findCurrent(): Promise<string | undefined> {
    const target = await this.#findLink(CURRENT);
    return target !== undefined && isGenerationName(target) ? target : undefined;
  }

  /**
   * Links every name of the volume to the present generation, and removes the rest; true if nothing is left
   * to remove.
   *
   * It spares the generation that was just replaced, and those replaced a moment ago.
   */
  async #tidy(wanted: ContentPayload, current: string, before?: string): Promise<boolean> {
    const names = new Set([...wanted.keys()].map((path) => path.split('/')[0]!));
    const there = await this.#files.readdir(this.#folder);
    const taken = new Set(there);
    for (const name of names) {
      const target = `${CURRENT}/${name}`;
      if (!taken.has(name)) await this.#make(name, target, LINK);
      else if ((await this.#findLink(name)) !== target) await this.#replace(name, target, LINK);
    }
    const recent = this.#findRecent(there, current);
    const kept = new Set([CURRENT, current, before, ...names, ...recent]);
    const gone = there.filter((name) => !kept.has(name));
    // Links go before their targets.
    gone.sort((one, other) => Number(isGenerationName(one)) - Number(isGenerationName(other)));
    for (const name of gone) await this.#clear(name);
    return recent.length === 0 && (before === undefined || before === current);
  }

  /**
   * The newest of the generations that were replaced a moment ago, perhaps including one of a killed writer.
   */
  #findRecent(there: readonly string[], current: string): string[] {
    const generations = there.filter(isGenerationName).sort();
    const nowMs = this.#clock.now();
    return generations
      .filter((name, index) => {
        const agoMs = nowMs - generationTimeMs(generations[index + 1] ?? current);
        return name < current && agoMs >= 0 && agoMs < KEPT_MS;
      })
      .slice(-MAX_GENERATIONS);
  }

  /** Creates a link where nothing seems to exist. */
  async #make(name: string, target: string, temporary: string): Promise<void> {
    try {
      await this.#files.symlink(target, join(this.#folder, name));
    } catch (error) {
      if (systemCodeOf(error) !== 'EEXIST') throw error;
      await this.#replace(name, target, temporary);
    }
  }

  /** Replaces whatever exists by a link, in one step unless that is a folder. */
  async #replace(name: string, target: string, temporary: string): Promise<void> {
    const [path, made] = [join(this.#folder, name), join(this.#folder, temporary)];
    await this.#clear(temporary);
    await this.#files.symlink(target, made);
    try {
      await this.#files.rename(made, path);
    } catch (error) {
      if (!['EISDIR', 'ENOTEMPTY', 'EEXIST'].includes(systemCodeOf(error))) throw error;
      await this.#clear(name);
      await this.#files.rename(made, path);
    }
  }

  /** Follows no link. */
  async #clear(name: string): Promise<void> {
    await this.#files.rm(join(this.#folder, name), { recursive: true, force: true });
  }

  /** The target of a link; undefined for a missing path, or for no link. */
  async #findLink(name: string): Promise<string | undefined> {
    try {
      return await this.#files.readlink(join(this.#folder, name));
    } catch (error) {
      if (['ENOENT', 'EINVAL'].includes(systemCodeOf(error))) return undefined;
      throw error;
    }
  }

  #place(generation: string): GenerationPlace {
    return { folder: join(this.#folder, generation), group: this.#group };
  }
}
