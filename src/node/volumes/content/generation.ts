/**
 * One generation of a content volume: a hidden folder with every file of the payload, written once and never
 * changed.
 *
 * @module
 */
import { type Stats } from 'node:fs';
import { join } from 'node:path';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type ContentFileSystem, findFacts } from './content-file-system.js';
import { type ContentFile, type ContentPayload, foldersAbove } from './content-payload.js';

/** The path and the owner of a generation. */
export interface GenerationPlace {
  readonly folder: string;
  /** The group of everything in it: the pod's fsGroup. Undefined: the agent's own. */
  readonly group: number | undefined;
}

const NAME = /^\.\.\d{4}(?:_\d\d){5}\.\d+$/;
const RANDOM_DIGITS = 6;

/** Readable for the owner, a requested group and everybody, as Kubernetes does with read-only volumes. */
const FOLDER_MODE = 0o755;
const SETGID = 0o2000;
const GROUP_MAY_READ = 0o440;

/**
 * The name of a generation of that moment: `..2026_11_22_00_50_12.` and digits. Names sort by time. Pure.
 *
 * The digits begin with the milliseconds and end with `definition`.
 */
export function generationName(nowMs: number, random: number, definition: string): string {
  const [second, millisecond] = new Date(nowMs).toISOString().slice(0, 23).split('.');
  const digits = String(Math.floor(random * 10 ** RANDOM_DIGITS)).padStart(RANDOM_DIGITS, '0');
  return `..${second!.replaceAll(/[-T:]/g, '_')}.${millisecond!}${digits}${definition}`;
}

/** When a generation of that name was created, in milliseconds since the epoch. Pure. */
export function generationTimeMs(name: string): number {
  const [year, month, ...rest] = name.slice(2).split(/[_.]/, 7);
  const [day, hour, minute, second, digits = ''] = rest;
  return Date.UTC(
    ...([Number(year), Number(month) - 1, Number(day)] as const),
    ...([Number(hour), Number(minute), Number(second), Number(digits.slice(0, 3))] as const),
  );
}

/** Whether it may be a generation's name. Pure. */
export function isGenerationName(name: string): boolean {
  return NAME.test(name);
}

/** Creates the folder, which must not exist, with all files. Ignores the umask. */
export async function writeGeneration(
  files: ContentFileSystem,
  payload: ContentPayload,
  { folder, group }: GenerationPlace,
): Promise<void> {
  await files.mkdir(folder, { mode: 0o700 });
  // The volume may pass its group on; files belong to the agent until they are given away.
  await files.lchown(folder, process.geteuid!(), process.getegid!());
  await files.chmod(folder, 0o700);
  const folders = foldersOf(payload);
  for (const each of folders) await files.mkdir(join(folder, each), { mode: 0o700 });
  for (const [path, file] of payload) {
    const full = join(folder, path);
    await files.writeFile(full, file.data, { flag: 'wx', mode: 0o600 });
    const owner = ownerOf(file);
    if (group !== undefined || owner !== process.geteuid!()) {
      await files.lchown(full, owner, group ?? process.getegid!());
    }
    await files.chmod(full, modeOf(file, group));
  }
  for (const each of [...folders].reverse().concat('')) {
    const full = join(folder, each);
    if (group !== undefined) await files.lchown(full, process.geteuid!(), group);
    await files.chmod(full, folderMode(group));
  }
}

/**
 * Whether the folder contains exactly the payload: the same files with the same content, modes and group, and
 * no more.
 */
export async function holdsPayload(
  files: ContentFileSystem,
  payload: ContentPayload,
  place: GenerationPlace,
): Promise<boolean> {
  const folders = new Set(['', ...foldersOf(payload)]);
  let [filesSeen, foldersSeen] = [0, 0];
  const waiting = [''];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const facts = await findFacts(files, join(place.folder, folder));
    if (facts?.isDirectory() !== true || !belongs(facts, folderMode(place.group), place)) return false;
    foldersSeen++;
    for (const name of await files.readdir(join(place.folder, folder))) {
      const path = folder === '' ? name : `${folder}/${name}`;
      const file = payload.get(path);
      if (folders.has(path)) waiting.push(path);
      else if (file !== undefined && (await holdsFile(files, file, path, place))) filesSeen++;
      else return false;
    }
  }
  return filesSeen === payload.size && foldersSeen === folders.size;
}

async function holdsFile(
  files: ContentFileSystem,
  file: ContentFile,
  path: string,
  place: GenerationPlace,
): Promise<boolean> {
  const full = join(place.folder, path);
  const facts = await findFacts(files, full);
  if (facts?.isFile() !== true || facts.size !== file.data.byteLength) return false;
  if (!belongs(facts, modeOf(file, place.group), place) || facts.uid !== ownerOf(file)) return false;
  try {
    return (await files.readFile(full)).equals(file.data);
  } catch (error) {
    // A user other than root cannot read what the mode denies. Rewriting is always right.
    if (systemCodeOf(error) === 'EACCES') return false;
    throw error;
  }
}

function belongs({ mode, gid }: Stats, wanted: number, { group }: GenerationPlace): boolean {
  return (mode & 0o7777) === wanted && gid === (group ?? process.getegid!());
}

/** Only root gives files away. */
function ownerOf({ uid }: ContentFile): number {
  const own = process.geteuid!();
  return own === 0 ? (uid ?? own) : own;
}

function modeOf({ mode }: ContentFile, group: number | undefined): number {
  return group === undefined ? mode : mode | GROUP_MAY_READ;
}

function folderMode(group: number | undefined): number {
  return group === undefined ? FOLDER_MODE : FOLDER_MODE | SETGID;
}

/** The folders of a generation, parents first. */
export function foldersOf(payload: ContentPayload): string[] {
  const found = new Set<string>();
  for (const path of payload.keys()) for (const folder of foldersAbove(path)) found.add(folder);
  return [...found];
}
