import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { readIfThere } from '#base/fs/whole-file.js';
import { findProgram } from '#base/proc/find-program.js';

/** Ids of users and groups of the node that pods may have as theirs. */
export interface NodeIds {
  readonly first: number;
  readonly count: number;
}

/** Programs and files of the node (default: its own). */
export interface NodeIdsOptions {
  readonly usersFile?: string;
  /** Folders of programs, with colons between them. */
  readonly path?: string;
}

/** Whom administrators give ids for pods in /etc/subuid and /etc/subgid. */
const KUBELETS_USER = 'kubelet';
const PATH = '/usr/sbin:/usr/bin:/sbin:/bin';
const TIMEOUT_MS = 10_000;
/** The kernel maps no range that contains the last id, which stands for none. */
const ID_COUNT = 2 ** 32 - 1;

/**
 * The ids of the node that pods may have: those that `getsubids kubelet` prints, as of a kubelet.
 *
 * Without that user or that program, all from `idsPerPod` on: the first range belongs to the node itself.
 * Rejects in the kubelet's words when the user has no ids, or other ones for groups.
 *
 * Source: https://kubernetes.io/docs/concepts/workloads/pods/user-namespaces/#set-up-a-node
 */
export async function readNodeIds(
  idsPerPod: number,
  { usersFile = '/etc/passwd', path = PATH }: NodeIdsOptions = {},
): Promise<NodeIds> {
  const all = { first: idsPerPod, count: ID_COUNT - idsPerPod };
  const users = (await readIfThere(usersFile)) ?? '';
  if (!users.split('\n').some((line) => line.startsWith(`${KUBELETS_USER}:`))) return all;
  const program = await findProgram('getsubids', path);
  if (program === undefined) return all;
  const uids = await getSubIds(program, 'uids');
  if (uids !== (await getSubIds(program, 'gids'))) {
    throw new Error(`mismatched subuids and subgids for user "${KUBELETS_USER}"`);
  }
  return parseSubIds(uids);
}

/** Reads a line such as `0: kubelet 65536 7208960`; ids that the kernel does not map are left out. Throws an Error for others. */
export function parseSubIds(printed: string): NodeIds {
  const lines = printed.trim().split('\n');
  if (lines.length !== 1) {
    throw new Error(`error parsing line ${JSON.stringify(printed)}: it must contain only one line`);
  }
  const found = /^\S+\s+\S+\s+(\d{1,10})\s+(\d{1,10})$/.exec(lines[0]!.trim());
  const [first, count] = [Number(found?.[1]), Number(found?.[2])];
  // Numbers of 32 bits, as for a kubelet; NaN where it is no such line.
  if (!(Math.max(first, count) <= ID_COUNT)) throw new Error(`invalid line ${JSON.stringify(lines[0])}`);
  return { first, count: Math.min(count, ID_COUNT - first) };
}

async function getSubIds(program: string, of: 'uids' | 'gids'): Promise<string> {
  const args = [...(of === 'gids' ? ['-g'] : []), KUBELETS_USER];
  try {
    const { stdout } = await promisify(execFile)(program, args, {
      env: { PATH, LC_ALL: 'C' },
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    return stdout;
  } catch (cause) {
    throw new Error(`error retrieving additional ${of} for user "${KUBELETS_USER}"`, { cause });
  }
}
