import { randomBytes } from 'node:crypto';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readdir, readFile, readlink, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PodSandboxConfig } from '../../src/watch/cri/generated/runtime/v1/cri.js';
import { PodNetwork, type PodNetworkOptions } from '../../src/box/network/pod-network.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { SystemClock } from '#base/time/clock.js';

const execute = promisify(execFile);

/** A signal that never aborts. */
export const NEVER = new AbortController().signal;

/** Why tests that make network namespaces cannot run here; undefined when they can. */
export function whyNoNetworkHarness(): string | undefined {
  if (process.platform !== 'linux') return 'not Linux';
  return process.geteuid?.() === 0 ? undefined : 'not root: network namespaces cannot be made';
}

/** A sandbox of the lab: a process in a network namespace of its own. */
export interface LabSandbox {
  readonly id: string;
  readonly pid: number;
  kill(): Promise<void>;
}

/** A network namespace that plays the host, with sandboxes beside it; all of it ends with the lab. */
export class NetworkHarness implements AsyncDisposable {
  readonly rootDir: string;
  readonly #children: ChildProcess[] = [];
  /** A process in the network namespace that plays the host. */
  hostPid = 0;

  private constructor(rootDir: string) {
    this.rootDir = rootDir;
  }

  /** `forwarding`: whether the host forwards packets in the beginning (default: as the kernel makes it). */
  static async make({ forwarding }: { forwarding?: boolean } = {}): Promise<NetworkHarness> {
    const lab = new NetworkHarness(await mkdtemp(join(tmpdir(), 'podloop-network-test-')));
    lab.hostPid = (await lab.#holder()).pid;
    await lab.onHost('ip', 'link', 'set', 'lo', 'up');
    if (forwarding !== undefined)
      await lab.onHost('sh', '-c', `echo ${forwarding ? 1 : 0} >/proc/sys/net/ipv4/ip_forward`);
    return lab;
  }

  get hostNetns(): string {
    return `/proc/${this.hostPid}/ns/net`;
  }

  open(options: Partial<PodNetworkOptions> = {}): Promise<PodNetwork> {
    const { rootDir, hostNetns } = this;
    const clock = new SystemClock();
    const cniConfDir = join(rootDir, 'cni');
    return PodNetwork.open({
      mode: 'auto',
      cniConfDir,
      rootDir,
      hostNetns,
      clock,
      logger: SILENT_LOGGER,
      ...options,
    });
  }

  async sandbox(): Promise<LabSandbox> {
    return { id: randomBytes(32).toString('hex'), ...(await this.#holder()) };
  }

  /** A neighbour of the host: 198.51.100.9, which reaches the host as 198.51.100.2 and knows nothing of pods. */
  async neighbour(): Promise<LabSandbox> {
    const neighbour = await this.sandbox();
    const batch = (lines: string[]) => ['sh', '-c', 'printf "$0" | ip -batch -', lines.join('\\n')];
    await this.onHost(
      ...batch([
        `link add lan0 mtu 1400 type veth peer name lan1 netns ${neighbour.pid} mtu 1400`,
        'addr add 198.51.100.2/24 dev lan0',
        'link set lan0 up',
        'route add default via 198.51.100.9',
      ]),
    );
    await this.inside(neighbour, ...batch(['addr add 198.51.100.9/24 dev lan1', 'link set lan1 up']));
    return neighbour;
  }

  /** A folder with all the programs that are needed, and those for packet rules only where `from` has them. */
  async toolPath(from: string | undefined): Promise<string> {
    const folder = await mkdtemp(join(this.rootDir, 'tools-'));
    for (const name of ['ip', 'nsenter', 'unshare', 'sh']) {
      const { stdout } = await execute('sh', ['-c', `command -v ${name}`]);
      await symlink(stdout.trim(), join(folder, name));
    }
    return from === undefined ? folder : `${folder}:${from}`;
  }

  /** As {@link toolPath}, with an `nft` that takes all rules and does nothing: for a host that routes, on any machine. */
  async toolPathWithRules(): Promise<string> {
    const folder = await this.toolPath(undefined);
    await writeFile(join(folder, 'nft'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
    return folder;
  }

  /** As {@link toolPath}, with a script in the place of `sh`, which finds the shell itself in `$real`. */
  async toolPathWithShell(script: string): Promise<string> {
    const folder = await this.toolPath(undefined);
    const [shell, real] = [join(folder, 'sh'), join(folder, 'sh-itself')];
    await rename(shell, real);
    await writeFile(shell, `#!/bin/sh\nreal=${real}\n${script}\n`, { mode: 0o755 });
    return folder;
  }

  /** As {@link toolPath}, but from its n-th use on `ip` fails without doing anything, also when things are undone. */
  async toolPathThatEndsAfter(uses: number): Promise<string> {
    const folder = await this.toolPath(undefined);
    const [real, counter, ip] = ['ip-itself', 'count', 'ip'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    await rename(ip, real);
    const script = `#!/bin/sh\nread -r n <${counter}\necho $((n - 1)) >${counter}\n[ "$n" -gt 0 ] || exit 9\nexec ${real} "$@"\n`;
    await writeFile(ip, script, { mode: 0o755 });
    // Opening the network tries it once.
    await writeFile(counter, `${uses}\n`);
    return folder;
  }

  /** Runs a program in the host's network; resolves with its output. */
  async onHost(...argv: string[]): Promise<string> {
    return (await execute('nsenter', [`--net=${this.hostNetns}`, '--', ...argv])).stdout;
  }

  /** Runs a program in a sandbox's network; resolves with its output. */
  async inside(sandbox: LabSandbox, ...argv: string[]): Promise<string> {
    return (await execute('nsenter', [`--net=/proc/${sandbox.pid}/ns/net`, '--', ...argv])).stdout;
  }

  /** Serves until the lab ends: what it answers to anything is `text` and the address that it saw the client have. */
  async serve(
    sandbox: LabSandbox,
    port: number,
    text: string,
    protocol: 'tcp' | 'udp' = 'tcp',
  ): Promise<void> {
    const answer = `${JSON.stringify(text)} + ' '`;
    const script =
      protocol === 'tcp'
        ? `require('net').createServer({ allowHalfOpen: true }, (c) => c.resume().on('error', () => 0).on('end', () => c.end(${answer} + c.remoteAddress))).listen(${port}, '0.0.0.0', () => console.log('up'))`
        : `const s = require('dgram').createSocket('udp4'); s.on('message', (m, r) => s.send(${answer} + r.address, r.port, r.address)); s.bind(${port}, () => console.log('up'))`;
    const child = spawn(
      'nsenter',
      [
        `--net=/proc/${sandbox.pid}/ns/net`,
        '--',
        process.execPath,
        '-e',
        `setTimeout(() => process.exit(), 900_000); ${script}`,
      ],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    this.#children.push(child);
    await new Promise((resolve) => child.stdout.once('data', resolve));
  }

  /** What a server answers to a client on the host, or in a sandbox. */
  ask(host: string, port: number, from?: LabSandbox, protocol: 'tcp' | 'udp' = 'tcp'): Promise<string> {
    const script =
      protocol === 'tcp'
        ? `require('net').connect(${port}, '${host}').on('error', (e) => { console.log(e.code); process.exit(); }).on('data', (d) => console.log(String(d))).end('hello'); setTimeout(() => { console.log('silence'); process.exit(); }, 5000).unref()`
        : `const s = require('dgram').createSocket('udp4'); s.on('message', (m) => { console.log(String(m)); process.exit(); }); s.send('x', ${port}, '${host}'); setTimeout(() => { console.log('silence'); process.exit(); }, 5000)`;
    const run = from === undefined ? this.onHost.bind(this) : this.inside.bind(this, from);
    return run(process.execPath, '-e', script).then((output) => output.trim());
  }

  /** Names of the host's interfaces and its routes, rules excluded: what there is to be left behind. */
  async inventory(): Promise<{ links: string[]; routes: string[]; forwarding: string; processes: string[] }> {
    const links = JSON.parse(await this.onHost('ip', '-j', 'link')) as { ifname: string }[];
    const routes = (await this.onHost('ip', '-4', 'route', 'show', 'table', 'all')).trim().split('\n');
    return {
      links: links.map(({ ifname }) => ifname),
      routes,
      forwarding: (await this.onHost('cat', '/proc/sys/net/ipv4/ip_forward')).trim(),
      processes: await this.processes(),
    };
  }

  /** Command lines that name the lab's root folder. */
  async processes(): Promise<string[]> {
    const found: string[] = [];
    for (const pid of await readdir('/proc')) {
      if (!/^\d+$/.test(pid)) continue;
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      if (command.includes(this.rootDir)) found.push(`${pid} ${command.replaceAll('\0', ' ')}`);
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#children.map(end));
    for (const line of await this.processes()) process.kill(Number.parseInt(line, 10), 'SIGKILL');
    await rm(this.rootDir, { recursive: true, force: true });
  }

  async #holder(): Promise<{ pid: number; kill: () => Promise<void> }> {
    // Should this very process be killed, its namespaces do not stay for ever.
    const child = spawn('unshare', ['--net', '--', 'sleep', '900'], { stdio: 'ignore' });
    this.#children.push(child);
    const ours = await readlink('/proc/self/ns/net');
    const theirs = () => readlink(`/proc/${child.pid}/ns/net`).catch(() => ours);
    while ((await theirs()) === ours) await new Promise((resolve) => setTimeout(resolve, 2));
    return { pid: child.pid!, kill: () => end(child) };
  }
}

/** A request with host ports. */
export function sandboxConfig(
  portMappings: { hostPort: number; containerPort: number; protocol?: 0 | 1 | 2; hostIp?: string }[] = [],
): PodSandboxConfig {
  return PodSandboxConfig.fromPartial({
    metadata: { name: 'web', namespace: 'default', uid: 'u' },
    portMappings,
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}
