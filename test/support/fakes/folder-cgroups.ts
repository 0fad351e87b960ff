import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { type CgroupIo } from '#base/proc/cgroups/cgroup-io.js';
import { systemCodeOf } from '#base/errors/system-code.js';

type Files = Readonly<Record<string, string>>;

const NO_LIMIT = '9223372036854771712';
const GROUP_V1: Files = { 'cgroup.procs': '' };
const GROUP_V2: Files = {
  'cgroup.procs': '',
  'cgroup.controllers': '',
  'cgroup.subtree_control': '',
  'cgroup.kill': '',
  'cgroup.freeze': '0',
  'cpu.pressure':
    'some avg10=1.50 avg60=0.25 avg300=0.00 total=77\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n',
};
const FILES_V1: Readonly<Record<string, Files>> = {
  cpu: {
    'cpu.shares': '1024',
    'cpu.cfs_period_us': '100000',
    'cpu.cfs_quota_us': '-1',
    'cpu.stat': 'nr_periods 10\nnr_throttled 4\nthrottled_time 5000\n',
  },
  cpuacct: { 'cpuacct.usage': '0', 'cpuacct.usage_user': '0', 'cpuacct.usage_sys': '0' },
  cpuset: { 'cpuset.cpus': '', 'cpuset.mems': '' },
  memory: {
    'memory.limit_in_bytes': NO_LIMIT,
    'memory.memsw.limit_in_bytes': NO_LIMIT,
    'memory.usage_in_bytes': '0',
    'memory.max_usage_in_bytes': '0',
    'memory.failcnt': '0',
    'memory.stat': `total_rss 0\nhierarchical_memory_limit ${NO_LIMIT}\nhierarchical_memsw_limit ${NO_LIMIT}\n`,
    'memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 0\n',
  },
  pids: { 'pids.current': '0', 'pids.max': 'max' },
  freezer: { 'freezer.state': 'THAWED' },
};
const FILES_V2: Readonly<Record<string, Files>> = {
  cpu: {
    'cpu.weight': '100',
    'cpu.max': 'max 100000',
    'cpu.stat': 'usage_usec 0\nuser_usec 0\nsystem_usec 0\n',
  },
  cpuset: { 'cpuset.cpus': '', 'cpuset.mems': '' },
  memory: {
    'memory.max': 'max',
    'memory.high': 'max',
    'memory.min': '0',
    'memory.low': '0',
    'memory.swap.max': 'max',
    'memory.current': '0',
    'memory.swap.current': '0',
    'memory.stat': 'anon 0\ninactive_file 0\n',
    'memory.events': 'low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n',
  },
  pids: { 'pids.current': '0', 'pids.max': 'max' },
  hugetlb: { 'hugetlb.2MB.max': 'max' },
};

/** Which trees a {@link FolderCgroups} has: those of version 1, that of version 2, or both. */
export type CgroupVersions = 'v1' | 'v2' | 'hybrid';

/**
 * Trees of cgroups made of plain folders, with those rules of the kernel that matter here: a new group has its
 * control files, one with processes or groups cannot be removed, version 2 hands down what it is told to (what a group
 * has itself, and no process may be in it unless it is the topmost), version 1
 * keeps `memsw` above the memory's limit and lets nobody into a cpuset that is empty.
 */
export class FolderCgroups implements CgroupIo, AsyncDisposable {
  readonly root: string;
  /** Every write that was taken: `group/file=text` below the trees' roots. */
  readonly writes: string[] = [];
  /** Every process that was signalled by pid. */
  readonly killed: number[] = [];
  /** Called before a write; what it throws is the kernel's refusal. */
  onWrite: (path: string, text: string) => void = () => undefined;
  /** Called before a group is removed; what it throws is the kernel's refusal. */
  onRemove: (path: string) => void = () => undefined;
  readonly #trees: ReadonlyMap<string, 1 | 2>;

  private constructor(root: string, trees: ReadonlyMap<string, 1 | 2>) {
    this.root = root;
    this.#trees = trees;
  }

  static async make(versions: CgroupVersions): Promise<FolderCgroups> {
    const root = await mkdtemp(join(tmpdir(), 'podloop-cgroups-'));
    const trees = new Map<string, 1 | 2>();
    if (versions !== 'v2') for (const name of Object.keys(FILES_V1)) trees.set(name, 1);
    if (versions !== 'v1') trees.set('unified', 2);
    const folders = new FolderCgroups(root, trees);
    for (const [tree, version] of trees) {
      await mkdir(join(root, tree));
      await folders.#fill(tree, version === 1 ? [tree] : []);
      const controllers = versions === 'v2' ? Object.keys(FILES_V2) : ['hugetlb'];
      if (version === 2) await folders.set('unified', '/', 'cgroup.controllers', controllers.join(' '));
      if (tree === 'cpuset') {
        await folders.set(tree, '/', 'cpuset.cpus', '0-3');
        await folders.set(tree, '/', 'cpuset.mems', '0');
      }
    }
    return folders;
  }

  /** As /proc/self/mountinfo would show the trees. */
  get mountinfo(): string {
    const lines = [...this.#trees].map(([tree, version], at) => {
      const [type, options] = version === 1 ? ['cgroup', `rw,${tree}`] : ['cgroup2', 'rw'];
      return `${30 + at} 1 0:${at} / ${join(this.root, tree)} rw,relatime - ${type} ${type} ${options}`;
    });
    return ['22 1 0:5 / /proc rw - proc proc rw', ...lines, ''].join('\n');
  }

  /** What a control file says, without the newline; undefined when it does not exist. */
  show(tree: string, group: string, file: string): string | undefined {
    return this.read(join(this.root, tree, group, file))?.trim();
  }

  /** Sets a control file as the kernel would, without counting as a write. */
  async set(tree: string, group: string, file: string, text: string): Promise<void> {
    await writeFile(join(this.root, tree, group, file), text);
  }

  /** Every group of a tree, by its path. */
  async groups(tree: string): Promise<string[]> {
    const entries = await readdir(join(this.root, tree), { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name).slice(join(this.root, tree).length))
      .sort();
  }

  /** Puts a process into a group of every tree, as one that writes itself into the join files. */
  async join(group: string, pid: number): Promise<void> {
    for (const tree of this.#trees.keys()) {
      if (tree === 'cpuset' && this.show(tree, group, 'cpuset.cpus') === '') throw failure('ENOSPC');
      const pids = this.show(tree, group, 'cgroup.procs') ?? '';
      await this.set(tree, group, 'cgroup.procs', `${pids}\n${pid}`.trim());
    }
  }

  /** Every number belongs to a process that started with the machine. */
  readonly find = (pid: number): { pid: number; startTicks: string } => ({ pid, startTicks: '1' });

  /** Ends a process: it leaves every group. */
  readonly kill = (pid: number): boolean => {
    this.killed.push(pid);
    this.leave(pid);
    return true;
  };

  leave(...pids: readonly number[]): void {
    for (const gone of pids) this.#gone.add(gone);
  }

  readonly #gone = new Set<number>();

  read(path: string): string | undefined {
    try {
      const text = readFileSync(path, 'utf8');
      if (basename(path) !== 'cgroup.procs') return text;
      return text
        .split('\n')
        .filter((pid) => !this.#gone.has(Number(pid)))
        .join('\n');
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  async write(path: string, text: string): Promise<void> {
    const old = this.read(path);
    if (old === undefined) throw failure('ENOENT');
    this.onWrite(path, text);
    const file = basename(path);
    const content = file === 'cgroup.subtree_control' ? `${old} ${text.slice(1)}`.trim() : text;
    this.#check(path, file, text);
    await writeFile(path, content);
    if (file === 'cgroup.subtree_control') await this.#giveDown(dirname(path), content);
    this.writes.push(`${path.slice(this.root.length + 1)}=${text}`);
    if (file === 'cgroup.kill') this.leave(...(await this.#pidsBelow(dirname(path))));
  }

  async makeGroup(path: string): Promise<void> {
    await mkdir(path);
    const tree = this.#treeOf(path);
    const handed = this.read(join(dirname(path), 'cgroup.subtree_control')) ?? '';
    const version = this.#trees.get(tree);
    await this.#fill(path.slice(this.root.length + 1), version === 1 ? [tree] : handed.split(' '), version);
    if (version === 2) await writeFile(join(path, 'cgroup.controllers'), handed);
  }

  async removeGroup(path: string): Promise<void> {
    const procs = this.read(join(path, 'cgroup.procs'));
    if (procs === undefined) throw failure('ENOENT');
    this.onRemove(path);
    if (procs !== '' || (await this.children(path)).length > 0) throw failure('EBUSY');
    await rm(path, { recursive: true });
  }

  async children(path: string): Promise<readonly string[]> {
    const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.root, { recursive: true, force: true });
  }

  #treeOf(path: string): string {
    return path.slice(this.root.length + 1).split('/')[0] ?? '';
  }

  async #fill(group: string, controllers: readonly string[], version?: 1 | 2): Promise<void> {
    const isV1 = (version ?? this.#trees.get(group)) === 1;
    const files = isV1 ? GROUP_V1 : GROUP_V2;
    const own = controllers.map((name) => (isV1 ? FILES_V1 : FILES_V2)[name] ?? {});
    for (const [name, text] of Object.entries(Object.assign({}, files, ...own) as Files)) {
      await writeFile(join(this.root, group, name), text);
    }
  }

  /** The groups below one have the files of what it hands down from then on. */
  async #giveDown(path: string, handed: string): Promise<void> {
    for (const name of await this.children(path)) {
      const below = join(path, name);
      await writeFile(join(below, 'cgroup.controllers'), handed);
      const files = handed.split(' ').flatMap((each) => Object.entries(FILES_V2[each] ?? {}));
      for (const [file, text] of files) {
        if (this.read(join(below, file)) === undefined) await writeFile(join(below, file), text);
      }
    }
  }

  #check(path: string, file: string, text: string): void {
    if (file === 'cgroup.subtree_control') {
      const own = (this.read(join(dirname(path), 'cgroup.controllers')) ?? '').split(/\s+/);
      if (!own.includes(text.slice(1))) throw failure('ENOENT');
      const isTop = dirname(dirname(path)) === this.root;
      if (!isTop && (this.read(join(dirname(path), 'cgroup.procs')) ?? '') !== '') throw failure('EBUSY');
    }
    const other = (name: string): bigint => BigInt(this.read(join(dirname(path), name)) ?? '0');
    const limit = (value: string): bigint => (value === '-1' ? BigInt(NO_LIMIT) : BigInt(value));
    const bad =
      (file === 'memory.limit_in_bytes' && limit(text) > other('memory.memsw.limit_in_bytes')) ||
      (file === 'memory.memsw.limit_in_bytes' && limit(text) < other('memory.limit_in_bytes'));
    if (bad) throw failure('EINVAL');
  }

  async #pidsBelow(path: string): Promise<number[]> {
    const own = (this.read(join(path, 'cgroup.procs')) ?? '').split('\n').map(Number);
    const below = await Promise.all(
      (await this.children(path)).map((name) => this.#pidsBelow(join(path, name))),
    );
    return [...own, ...below.flat()];
  }
}

function failure(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: as the kernel would say`), { code });
}
