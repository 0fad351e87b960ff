import { imageFoldersOf, type ContainerRoot } from './container-roots.js';
import { openFileInRoot } from './path-in-root.js';

/** A line of etc/passwd. */
export interface UserEntry {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** A line of etc/group. */
export interface GroupEntry {
  readonly name: string;
  readonly gid: number;
  readonly members: readonly string[];
}

/** Who is known in a root. Of several lines for the same one the first counts, as in the C library. */
export class RootUsers {
  readonly #users: readonly UserEntry[];
  readonly #groups: readonly GroupEntry[];

  constructor(users: readonly UserEntry[], groups: readonly GroupEntry[]) {
    this.#users = users;
    this.#groups = groups;
  }

  findUser(name: string): UserEntry | undefined {
    return this.#users.find((user) => user.name === name);
  }

  findUserById(uid: number): UserEntry | undefined {
    return this.#users.find((user) => user.uid === uid);
  }

  findGroup(name: string): GroupEntry | undefined {
    return this.#groups.find((group) => group.name === name);
  }

  /** The ids of the groups that name the user as a member. */
  groupsOf(userName: string): number[] {
    return this.#groups.filter(({ members }) => members.includes(userName)).map(({ gid }) => gid);
  }
}

/** Longer files are not read to their end: nobody has that many users. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Reads etc/passwd and etc/group of a root without being led out of it. Files that are not there, and lines that are
 * malformed, name nobody. Of an overlay the image's files are read, not what the container has written over them.
 */
export async function readUsers(root: ContainerRoot): Promise<RootUsers> {
  const [passwd, group] = await Promise.all([readLines(root, 'etc/passwd'), readLines(root, 'etc/group')]);
  return new RootUsers(passwd.flatMap(toUser), group.flatMap(toGroup));
}

function toUser(line: string): UserEntry[] {
  const [name = '', , uid = '', gid = '', , home = ''] = line.split(':');
  return name !== '' && isId(uid) && isId(gid) ? [{ name, uid: Number(uid), gid: Number(gid), home }] : [];
}

function toGroup(line: string): GroupEntry[] {
  const [name = '', , gid = '', members = ''] = line.split(':');
  if (name === '' || !isId(gid)) return [];
  return [{ name, gid: Number(gid), members: members.split(',').filter((member) => member !== '') }];
}

function isId(text: string): boolean {
  return /^[0-9]{1,10}$/.test(text) && Number(text) < 0xffff_ffff;
}

async function readLines(root: ContainerRoot, path: string): Promise<string[]> {
  for (const folder of imageFoldersOf(root)) {
    await using file = await openFileInRoot(folder, path);
    if (file === undefined) continue;
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.min(size, MAX_BYTES));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.toString('utf8', 0, bytesRead).split('\n');
  }
  return [];
}
