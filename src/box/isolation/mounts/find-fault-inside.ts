import { open } from 'node:fs/promises';
import { type ContainerCommand } from '../../container/supervisor-script.js';
import { findCandidates } from '../script/command-candidates.js';
import { isBelow } from '#base/proc/mountinfo.js';
import { openPathInRoot } from '../../images/path-in-root.js';

const MISSING = 'no such file or directory';

/**
 * Why a command cannot be executed in a root, in the words of a runtime that tried; undefined when nothing speaks
 * against it. Looks at names, kinds and modes only, and is never led out of the root.
 */
export async function findFaultInside(
  root: string,
  command: Pick<ContainerCommand, 'argv' | 'environment' | 'workingDir'>,
): Promise<string | undefined> {
  const [name = ''] = command.argv;
  const bare = !name.includes('/');
  let best: string | undefined;
  for (const path of findCandidates(command)) {
    const fault = await findFileFault(root, path);
    if (fault === undefined) return undefined;
    if (fault !== MISSING) best ??= fault;
  }
  return `exec: "${name}": ${best ?? (bare ? 'executable file not found in $PATH' : MISSING)}`;
}

async function findFileFault(root: string, path: string): Promise<string | undefined> {
  const file = await openPathInRoot(root, path);
  if (file === undefined) return MISSING;
  try {
    const facts = await file.stat();
    if (facts.isDirectory()) return 'is a directory';
    return facts.isFile() && (facts.mode & 0o111) !== 0 ? undefined : 'permission denied';
  } finally {
    await file.close();
  }
}

/**
 * Why the kernel would not execute the file that a command means in the files of an image: it is no program, or its
 * interpreter is not there. Undefined when nothing speaks against it, also where what the container will find is not
 * known yet.
 *
 * @param roots the image's files, the uppermost first.
 * @param hidden where other things will be mounted.
 */
export async function findFormatFault(
  roots: readonly string[],
  command: Pick<ContainerCommand, 'argv' | 'environment' | 'workingDir'>,
  hidden: readonly string[],
): Promise<string | undefined> {
  const name = command.argv[0] ?? '';
  for (const path of findCandidates(command)) {
    if (hidden.some((target) => isBelow(path, target))) return undefined;
    const head = await readHead(roots, path);
    if (head === undefined) continue;
    if (head === '' || head.startsWith('\x7fELF')) return undefined;
    const interpreter = /^#![ \t]*([^\s]+)/.exec(head)?.[1];
    if (interpreter === undefined) return `exec: "${name}": exec format error`;
    if (hidden.some((target) => isBelow(interpreter, target))) return undefined;
    return (await readHead(roots, interpreter)) === undefined ? `exec: "${name}": ${MISSING}` : undefined;
  }
  return undefined;
}

/** The first bytes of an executable file; undefined when there is none, empty when it cannot be read. */
async function readHead(roots: readonly string[], path: string): Promise<string | undefined> {
  for (const root of roots) {
    const file = await openPathInRoot(root, path);
    if (file === undefined) continue;
    try {
      const facts = await file.stat();
      if (!facts.isFile() || (facts.mode & 0o111) === 0) return undefined;
      if (facts.size === 0) return ' ';
      await using readable = await open(`/proc/self/fd/${file.fd}`, 'r');
      const { buffer, bytesRead } = await readable.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
      return buffer.toString('latin1', 0, bytesRead);
    } finally {
      await file.close();
    }
  }
  return undefined;
}

const HEAD_BYTES = 256;
