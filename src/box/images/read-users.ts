import { imageFoldersOf, type ContainerRoot } from './container-roots.js';
import { openFileInRoot, openPathInRoot } from './path-in-root.js';

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

/** Why a file names nobody although it is there: what is said of who is not found. */
export interface UserFaults {
  readonly passwd?: string | undefined;
  readonly group?: string | undefined;
}

/** Who is known in a root. Of several lines for the same one the first counts, as in the C library. */
export class RootUsers {
  readonly #users: readonly UserEntry[];
  readonly #groups: readonly GroupEntry[];

  readonly faults: UserFaults;

  constructor(users: readonly UserEntry[], groups: readonly GroupEntry[], faults: UserFaults = {}) {
    this.#users = users;
    this.#groups = groups;
    this.faults = faults;
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

/** Longer files are not read: nobody has that many users. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Reads etc/passwd and etc/group of a root without being led out of it. Files that are not there, are none or are too
 * large, and lines that are malformed, name nobody. Of an overlay the image's files are read, not what the container has written over them.
 */
export async function readUsers(root: ContainerRoot): Promise<RootUsers> {
  const [passwd, group] = await Promise.all([readLines(root, 'etc/passwd'), readLines(root, 'etc/group')]);
  const faults = { passwd: passwd.fault, group: group.fault };
  return new RootUsers(passwd.lines.flatMap(toUser), group.lines.flatMap(toGroup), faults);
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

interface Lines {
  readonly lines: readonly string[];
  readonly fault?: string;
}

async function readLines(root: ContainerRoot, path: string): Promise<Lines> {
  for (const folder of imageFoldersOf(root)) {
    await using found = await openPathInRoot(folder, path);
    if (found === undefined) continue;
    if (!(await found.stat()).isFile()) return { lines: [], fault: 'which is no regular file' };
    await using file = await openFileInRoot(folder, path);
    if (file === undefined) return { lines: [], fault: 'which cannot be read' };
    const { size } = await file.stat();
    if (size > MAX_BYTES)
      return { lines: [], fault: `which is too large: it has ${size} bytes, and ${MAX_BYTES} are read` };
    const buffer = Buffer.alloc(size);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return { lines: buffer.toString('utf8', 0, bytesRead).split('\n') };
  }
  return { lines: [] };
}
