/**
 * A real systemd, as process 1 of namespaces of its own: it runs units as on a machine that it has booted.
 *
 * It sees this machine's programs and files, but none of its units. What it and its services write below `/etc`,
 * `/var/lib`, `/var/log` and `/usr/local/bin` stays in its namespace, and is gone with it; as are all its processes, pods
 * among them.
 *
 * @module
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { untilAsync } from './until-async.js';

const run = promisify(execFile);
const SYSTEMD = '/usr/lib/systemd/systemd';
const TOOLS = ['systemctl', 'systemd-notify', 'unshare', 'nsenter', 'setpriv'];
const COMMAND_TIMEOUT_MS = 200_000;

/** What systemd itself has to have; each is empty here, so that nothing of a machine is started. */
const TARGETS = [
  ...['basic', 'default', 'emergency', 'exit', 'local-fs', 'multi-user', 'network-online', 'paths', 'rescue'],
  ...['shutdown', 'slices', 'sockets', 'sysinit', 'timers', 'umount'],
];

/**
 * From unshare to systemd. The cgroup is one below the root of cgroup v2, and its root from then on, so that nothing of
 * the machine's own cgroups is touched. Outside, the process is known by the number that is printed first.
 */
const BOOT = `
set -e
read -r pid rest < /proc/self/stat
echo "$pid"
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mkdir /run/cgroup /run/layers
mount -t cgroup2 cgroup2 /run/cgroup
mkdir "/run/cgroup/$CGROUP"
echo 0 > "/run/cgroup/$CGROUP/cgroup.procs"
umount /run/cgroup
mount -t tmpfs tmpfs /run/layers
for of in etc var/lib var/log usr/local/bin; do
  mkdir -p "/run/layers/$of/upper" "/run/layers/$of/work"
  mount -t overlay -o "lowerdir=/$of,upperdir=/run/layers/$of/upper,workdir=/run/layers/$of/work" overlay "/$of"
done
for own in /etc/podloop /var/lib/podloop /var/log/pods; do rm -rf "$own"; done
# Nothing of the machine's kernel is set.
mount -t proc proc /proc
mount --bind /proc/sys /proc/sys
mount -o remount,ro,bind /proc/sys
export container=lxc
exec unshare --cgroup sh -ec '
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  exec /usr/lib/systemd/systemd --system --unit=multi-user.target --log-target=null --show-status=no
'
`;

/** The cgroups of who has ended; from the innermost to the outermost. */
const REMOVE_CGROUP = `
set -e
mount --make-rprivate /
mount -t cgroup2 cgroup2 /sys/fs/cgroup
if [ -d "/sys/fs/cgroup/$CGROUP" ]; then find "/sys/fs/cgroup/$CGROUP" -depth -type d -exec rmdir {} +; fi
`;

/** Why there can be no systemd here, in words; undefined when there can. */
export async function findSystemdProblem(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'it needs root';
  const path = (process.env['PATH'] ?? '').split(delimiter);
  const has = (name: string): boolean => path.some((folder) => isProgram(join(folder, name)));
  const lacking = [...TOOLS.filter((name) => !has(name)), ...(isProgram(SYSTEMD) ? [] : [SYSTEMD])];
  if (lacking.length > 0) return `there is no ${lacking.join(', ')}`;
  const needs = ['cgroup2', 'overlay'];
  const known = (await readFile('/proc/filesystems', 'utf8')).split(/\s+/);
  const unknown = needs.filter((name) => !known.includes(name));
  return unknown.length > 0 ? `the kernel has no ${unknown.join(', ')}` : undefined;
}

/** See the module. */
export class Systemd implements AsyncDisposable {
  /** Outside and inside the same. */
  readonly folder: string;
  readonly #unshare: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #cgroup: string;
  readonly #pid: number;

  /** Starts it and waits until it answers. Leaves nothing behind when it rejects. */
  static async start(): Promise<Systemd> {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-systemd-'));
    const units = join(folder, 'units');
    await mkdir(units);
    for (const name of TARGETS) {
      await writeFile(join(units, `${name}.target`), '[Unit]\nDefaultDependencies=no\n');
    }
    const cgroup = folder.split('/').at(-1)!;
    const env = {
      ...{ PATH: process.env['PATH'], CGROUP: cgroup, SYSTEMD_UNIT_PATH: units },
      ...{
        SYSTEMD_GENERATOR_PATH: join(folder, 'none'),
        SYSTEMD_ENVIRONMENT_GENERATOR_PATH: join(folder, 'none'),
      },
    };
    const namespaces = ['--pid', '--mount', '--uts', '--ipc', '--fork', '--kill-child=KILL'];
    // A run of tests that is killed takes it along.
    const args = ['--pdeathsig', 'KILL', 'unshare', ...namespaces, 'sh', '-c', BOOT];
    const unshare = spawn('setpriv', args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = once(unshare, 'close');
    let complaints = '';
    unshare.stderr.on('data', (data: Buffer) => (complaints += data.toString()));
    const lines = createInterface({ input: unshare.stdout });
    const pid = await Promise.race([once(lines, 'line').then(([line]) => Number(line)), ended.then(() => 0)]);
    const systemd = new Systemd({ folder, unshare, ended, cgroup, pid });
    try {
      await untilAsync('a systemd that runs', async () => {
        if (unshare.exitCode !== null) return true;
        return (await systemd.systemctl('is-system-running')).trim() === 'running';
      });
      if (unshare.exitCode !== null) throw new Error(`systemd has ended: ${complaints}`);
      return systemd;
    } catch (error) {
      await systemd[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(parts: {
    folder: string;
    unshare: ChildProcess;
    ended: Promise<unknown>;
    cgroup: string;
    pid: number;
  }) {
    this.folder = parts.folder;
    this.#unshare = parts.unshare;
    this.#ended = parts.ended;
    this.#cgroup = parts.cgroup;
    this.#pid = parts.pid;
  }

  /** Writes a unit or a drop-in of one, as in `name.service.d/more.conf`. It counts after `daemon-reload`. */
  async writeUnit(name: string, text: string): Promise<void> {
    const file = join(this.folder, 'units', name);
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, text);
  }

  /** Runs a program among its processes, with its files, and gives what that prints. */
  async inside(program: string, ...args: readonly string[]): Promise<string> {
    const all = ['-t', String(this.#pid), '-m', '-p', '-u', '-i', '-C', program, ...args];
    return (await run('nsenter', all, { timeout: COMMAND_TIMEOUT_MS })).stdout;
  }

  /** As the command; rejects as that fails. */
  async systemctl(...args: readonly string[]): Promise<string> {
    return this.inside('systemctl', ...args);
  }

  /** One property of a unit. */
  async show(unit: string, property: string): Promise<string> {
    return (await this.systemctl('show', unit, '--property', property, '--value')).trim();
  }

  /** Ends it and everything that it runs, as a power cut would. */
  async [Symbol.asyncDispose](): Promise<void> {
    // When process 1 of a PID namespace ends, all others of it have ended; and SIGKILL is all that ends this one.
    if (this.#unshare.exitCode === null && this.#unshare.signalCode === null && this.#pid > 0) {
      process.kill(this.#pid, 'SIGKILL');
    }
    await this.#ended;
    await run('unshare', ['--mount', 'sh', '-c', REMOVE_CGROUP], {
      env: { ...process.env, CGROUP: this.#cgroup },
    });
    await rm(this.folder, { recursive: true, force: true });
  }
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
