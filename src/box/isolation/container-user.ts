import { SupplementalGroupsPolicy, type LinuxContainerSecurityContext } from '#watch/messages';
import { invalidArgument, refused } from '../rpc-error.js';

/** As whom a container's program runs. */
export interface ContainerUser {
  readonly uid: number;
  readonly gid: number;
  /**
   * The supplementary groups, `gid` first: without it a program could leave its primary group, by one that changes its
   * group, and get past files that keep that group out.
   */
  readonly groups: readonly number[];
  /** The value of HOME. */
  readonly home: string;
}

/** Who is known in a container's root; see RootUsers. */
export interface KnownUsers {
  findUser(name: string): KnownUser | undefined;
  findUserById(uid: number): KnownUser | undefined;
  findGroup(name: string): { readonly gid: number } | undefined;
  /** The ids of the groups that name the user as a member. */
  groupsOf(userName: string): readonly number[];
  /** Why etc/passwd and etc/group name nobody although they are there: `which is no regular file`. */
  readonly faults: { readonly passwd?: string | undefined; readonly group?: string | undefined };
}

interface KnownUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

type UserContext = Pick<
  LinuxContainerSecurityContext,
  'runAsUser' | 'runAsGroup' | 'runAsUsername' | 'supplementalGroups' | 'supplementalGroupsPolicy'
>;

const MOST = 0xffff_fffe;
const DIGITS = /^[0-9]+$/;

/**
 * Decides as whom a container runs: what the request says (`run_as_user`, `run_as_username`, `run_as_group`,
 * `supplemental_groups` and their policy), else what the image says (`user`, `uid`, `user:group` …), else root.
 * Digits are an id and never a name, whatever the image's files say: an agent that sees a number in ImageStatus relies
 * on it.
 *
 * Throws INVALID_ARGUMENT for ids that cannot be and for a group without a user, UNKNOWN for names that are not
 * in the root's etc/passwd or etc/group.
 */
export function resolveContainerUser(
  context: UserContext | undefined,
  imageUser: string,
  known: KnownUsers,
): ContainerUser {
  const { runAsUser, runAsGroup, runAsUsername = '', supplementalGroups = [] } = context ?? {};
  if (runAsGroup !== undefined && runAsUser === undefined && runAsUsername === '') {
    throw invalidArgument('run_as_group is given without run_as_user or run_as_username');
  }
  const user =
    runAsUser !== undefined
      ? findById(toId('run_as_user', runAsUser.value), known)
      : findByText(runAsUsername === '' ? imageUser : runAsUsername, known);
  const merges = (context?.supplementalGroupsPolicy ?? 0) === SupplementalGroupsPolicy.Merge;
  const member = merges && user.name !== undefined ? known.groupsOf(user.name) : [];
  const given = supplementalGroups.map((group) => toId('supplemental_groups', group));
  const gid = runAsGroup === undefined ? user.gid : toId('run_as_group', runAsGroup.value);
  return { uid: user.uid, gid, groups: [...new Set([gid, ...member, ...given])], home: user.home };
}

interface FoundUser {
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly name: string | undefined;
}

function findById(uid: number, known: KnownUsers): FoundUser {
  return toFoundUser(uid, known.findUserById(uid));
}

function toFoundUser(uid: number, entry: KnownUser | undefined): FoundUser {
  const { gid = 0, home = '', name } = entry ?? {};
  return { uid, gid, name, home: home === '' ? (uid === 0 ? '/root' : '/') : home };
}

function findByText(text: string, known: KnownUsers): FoundUser {
  const [userText = '', groupText = ''] = text.split(':');
  const user = findUser(userText === '' ? '0' : userText, known);
  if (groupText === '') return user;
  const gid = DIGITS.test(groupText) ? toId('group', groupText) : known.findGroup(groupText)?.gid;
  if (gid === undefined) throw unknown('group', groupText, 'etc/group', known.faults.group);
  return { ...user, gid };
}

function findUser(text: string, known: KnownUsers): FoundUser {
  if (DIGITS.test(text)) return findById(toId('user', text), known);
  const entry = known.findUser(text);
  if (entry !== undefined) return toFoundUser(entry.uid, entry);
  throw unknown('user', text, 'etc/passwd', known.faults.passwd);
}

function unknown(what: string, name: string, file: string, fault: string | undefined): Error {
  return refused(`${what} "${name}" is not in the image's ${file}${fault === undefined ? '' : `, ${fault}`}`);
}

function toId(what: string, value: bigint | string): number {
  const id = Number(value);
  if (!Number.isInteger(id) || id < 0 || id > MOST) throw invalidArgument(`${what} cannot be ${value}`);
  return id;
}
