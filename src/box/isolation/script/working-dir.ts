/**
 * A container's working directory: where it is, how it is made and entered without being led out of the container.
 *
 * Its path comes from an image or a request, and others may write to the volumes that it leads through. In /proc
 * are links that do not lead by their names: to the roots and folders of other processes, and to whatever a process
 * has open. Whoever follows one of those leaves the container.
 *
 * @module
 */
import { isBelow } from '#base/proc/mountinfo.js';
import { refused } from '../../rpc-error.js';
import { findLinkFreePath } from '../mounts/link-free-path.js';
import { API_FOLDERS } from '../mounts/mount-plan.js';
import { OUTSIDE } from './program-starter.js';
import { quoteWord, quoteWords } from './shell-words.js';
import { type ToolKit } from './tool-kit.js';

/** A working directory, as far as the image's files say where it is. */
export interface WorkingDir {
  /** As it was asked for. */
  readonly path: string;
  /** Where it is to be made when it is not there: a path without links of the image. */
  readonly place: string;
  /** Whether nobody but the image has a say in where the path leads. */
  readonly certain: boolean;
}

/** Links below /proc/PID that lead where no name says. */
const MAGIC = ['cwd', 'root', 'fd', 'map_files', 'exe', 'ns'];

/**
 * Finds out where a working directory is. Throws UNKNOWN for one that leads through the links of /proc.
 *
 * @param roots the container's files, the uppermost first.
 * @param volumes link-free paths on which other things are mounted.
 */
export async function findWorkingDir(
  path: string,
  roots: readonly string[],
  volumes: readonly string[],
): Promise<WorkingDir> {
  const place = await findLinkFreePath(roots, path, [...API_FOLDERS, ...volumes]);
  if (isBelow(place, '/proc') && place.split('/').some((part) => MAGIC.includes(part)))
    throw refused(`the working directory "${path}": ${OUTSIDE}`);
  return { path, place, certain: ![...API_FOLDERS, ...volumes].some((above) => isBelow(place, above)) };
}

/**
 * Makes the folder unless it is there, for the script that has just cut off the host, with the kit as its working
 * directory. Each part is made in the folder above it, never through a link, and that folder is looked at by what
 * the kernel calls it: somebody may put a link in its place at any moment.
 */
export function renderMakeWorkingDir({ path, place }: WorkingDir, tools: ToolKit): string[] {
  const mkdir = tools.insideFrom('/proc/self/fd/6', 'mkdir');
  const pwd = tools.insideFrom('/proc/self/fd/6', 'pwd');
  return [
    `if [ ! -d ${quoteWord(path)} ]; then\n`,
    // In a process of its own: the folder of this one is the kit.
    `  said=$(exec 2>&1 6<.; cd / || exit; above=; rest=${quoteWord(place.slice(1))}\n`,
    '    while [ -n "$rest" ]; do\n',
    '      part=${rest%%/*}; case $rest in */*) rest=${rest#*/} ;; *) rest= ;; esac\n',
    `      [ -d "./$part" ] || ${quoteWords(mkdir)} -m 0755 -- "./$part" || [ -d "./$part" ] || exit\n`,
    '      above=$above/$part\n',
    '      cd -P "./$part" 2>/dev/null || { echo "cannot enter $above"; exit 1; }\n',
    `      [ "$(${quoteWords(pwd)} -P 2>&1; echo .)" = "$above\n." ] || { echo "$above is a link"; exit 1; }\n`,
    `    done) || fault ${quoteWord(`mkdir ${path}: `)}"$said"\n`,
    'fi\n',
    `[ -d ${quoteWord(path)} ] || fault ${quoteWord(`chdir to cwd ("${path}"): not a directory`)}\n`,
  ];
}

/**
 * Ends a shell, with the container's own privileges and before its program, unless the folder is the container's.
 * From a folder of its own one gets to `/` by going up; from any other one only to the root of something else.
 */
export function renderCheckWorkingDir(path: string): string {
  const outside = quoteWord(`${OUTSIDE}: ${path}`);
  return (
    `(cd -P ${quoteWord(path)} || exit 0; ` +
    'until [ . -ef / ]; do [ . -ef .. ] && exit 1; cd -P .. || exit 1; done) 2>/dev/null ' +
    `|| { echo ${outside} >&2; exit 126; }\n`
  );
}
