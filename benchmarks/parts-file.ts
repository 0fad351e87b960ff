import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { type RunIdentity } from './is-done.js';
import { isKnownCommit } from './machine-facts.js';
import { type Settings } from './run-plan.js';
import { type FoundParts } from './scenario.js';
import { writeWhole } from './write-whole.js';

/** Whatever makes figures comparable: parts of one run are of no use in another. */
export interface PartsRun extends Pick<RunIdentity, 'commit' | 'settings' | 'versions'> {
  /** Both sides of a ratio are of one machine. */
  readonly machine: string;
}

/** A run that is interrupted and goes on later has several. */
export interface Sitting {
  readonly tookSeconds: number;
  /** As in the machine's facts. */
  readonly loadBefore: number;
}

interface FileContent {
  readonly run: PartsRun;
  /** All in which something was found. */
  readonly sittings: readonly Sitting[];
  readonly parts: Readonly<Record<string, unknown>>;
}

/** Where they are kept in `folder`: a short run leaves alone what a long one found before it was interrupted. */
export function partsFileOf(folder: string, scenario: string, full: boolean, settings: Settings): string {
  const text = JSON.stringify([full, Object.entries(settings).toSorted()]);
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12);
  return path.join(folder, `${scenario}-${hash}.json`);
}

/** {@link FoundParts} in a file, which is written whole after each part. */
export class PartsFile implements FoundParts {
  readonly #file: string;
  readonly #run: PartsRun;
  readonly #parts: Map<string, unknown>;
  readonly #earlier: readonly Sitting[];
  readonly #loadBefore: number;
  readonly #beganMs = performance.now();

  /** Takes up what is there when `resume` says so and it is of the same commit, settings and machine; else begins anew. */
  static async open(file: string, run: PartsRun, resume: boolean, loadBefore = 0): Promise<PartsFile> {
    const content = resume ? await readContent(file) : undefined;
    const isSame =
      content !== undefined && isKnownCommit(run.commit) && identify(content.run) === identify(run);
    return new PartsFile(file, run, isSame ? content : { parts: {}, sittings: [] }, loadBefore);
  }

  private constructor(
    file: string,
    run: PartsRun,
    { parts, sittings }: Pick<FileContent, 'parts' | 'sittings'>,
    loadBefore: number,
  ) {
    this.#file = file;
    this.#run = run;
    this.#parts = new Map(Object.entries(parts));
    this.#earlier = sittings;
    this.#loadBefore = loadBefore;
  }

  /** Those before that found something, and this one. */
  get sittings(): readonly [...Sitting[], Sitting] {
    const tookSeconds = Math.round((performance.now() - this.#beganMs) / 1_000);
    return [...this.#earlier, { tookSeconds, loadBefore: this.#loadBefore }];
  }

  find(name: string): unknown {
    return this.#parts.get(name);
  }

  async keep(name: string, part: unknown): Promise<void> {
    this.#parts.set(name, part);
    const parts = Object.fromEntries(this.#parts);
    const content: FileContent = { run: this.#run, sittings: this.sittings, parts };
    await writeWhole(this.#file, JSON.stringify(content));
  }

  /** Once all of it is in the results. */
  async remove(): Promise<void> {
    await rm(this.#file, { force: true });
  }
}

async function readContent(file: string): Promise<FileContent | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as FileContent;
  } catch {
    // None, or not one of ours: what it held is measured again.
    return undefined;
  }
}

function identify({ commit, machine, settings, versions = {} }: PartsRun): string {
  return JSON.stringify([
    commit,
    machine,
    ...[settings, versions].map((each) => Object.entries(each).toSorted()),
  ]);
}
