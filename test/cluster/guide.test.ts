import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFreePort } from '#support/clients/tcp-client.js';
import { PODLOOP_MAIN } from '../integration/podloop-process.js';
import { type ClusterBinaries, findClusterBinaries } from './harness/cluster-binaries.js';
import { untilAsync } from './harness/until-async.js';

const run = promisify(execFile);
const found = findClusterBinaries();
const EXAMPLES = fileURLToPath(new URL('../../examples/cluster/', import.meta.url));
const NODES = ['node-1', 'node-2', 'node-3'];
/** Programs that are started, pods that move: on a loaded machine. */
const LIMIT_MS = 180_000;

/**
 * The guide "From one machine to a cluster", from its own examples: a folder and ports of its own take the place of `/opt/lab`
 * and those that a control plane usually has.
 */
class Lab implements AsyncDisposable {
  readonly #folder: string;
  readonly #kubectl: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #replacements: ReadonlyMap<string, string>;
  readonly #started = new Map<string, ChildProcess>();
  readonly #nodePorts: readonly number[];

  static async make(binaries: ClusterBinaries): Promise<Lab> {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-guide-'));
    const ports = ['2379', '2380', '6443', '10257', '10259'];
    const replacements = new Map([['/opt/lab', folder]]);
    for (const port of ports) replacements.set(`:${port}`, `:${await findFreePort()}`);
    const nodePorts = [await findFreePort(), await findFreePort(), await findFreePort()];
    await mkdir(join(folder, 'bin'));
    const programs = {
      ...{ etcd: binaries.etcd, 'kube-apiserver': binaries.apiServer },
      ...{ 'kube-controller-manager': binaries.controllerManager, 'kube-scheduler': binaries.scheduler },
      kubectl: binaries.kubectl!,
    };
    for (const [name, file] of Object.entries(programs)) await symlink(file, join(folder, 'bin', name));
    const podloop = `#!/bin/sh\nexec '${process.execPath}' '${PODLOOP_MAIN}' "$@"\n`;
    await writeFile(join(folder, 'bin/podloop'), podloop, { mode: 0o755 });
    return new Lab(folder, binaries.kubectl!, replacements, nodePorts);
  }

  private constructor(
    folder: string,
    kubectl: string,
    replacements: ReadonlyMap<string, string>,
    nodePorts: readonly number[],
  ) {
    this.#folder = folder;
    this.#kubectl = kubectl;
    this.#replacements = replacements;
    this.#nodePorts = nodePorts;
    this.#env = {
      PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
      ...{ HOME: folder, LAB: folder, LAB_SERVER: this.#here('https://127.0.0.1:6443') },
      KUBECONFIG: join(folder, 'keys/admin.kubeconfig'),
    };
  }

  async makeCredentials(): Promise<void> {
    const args = [join(EXAMPLES, 'make-credentials.sh'), join(this.#folder, 'keys')];
    await run('sh', args, { env: this.#env, timeout: LIMIT_MS });
  }

  async startControlPlane(): Promise<void> {
    const [manifests, root] = [join(this.#folder, 'manifests'), join(this.#folder, 'laptop')];
    await mkdir(manifests);
    for (const name of await readdir(join(EXAMPLES, 'control-plane'))) {
      const text = await readFile(join(EXAMPLES, 'control-plane', name), 'utf8');
      await writeFile(join(manifests, name), this.#here(text));
    }
    const folders = ['--root-dir', root, '--pod-logs-dir', join(root, 'logs')];
    const args = ['run', manifests, '--runtime-endpoint', 'embedded', ...folders, '--stop-pods'];
    this.#start('laptop', 'podloop', ...args, '--read-only-port', '0', '--node-name', 'laptop');
  }

  startNode(name: string): void {
    const port = this.#nodePorts[NODES.indexOf(name)]!;
    this.#start(name, 'sh', join(EXAMPLES, 'start-node.sh'), name, String(port));
  }

  /** As a crash would: its pods go on. */
  async killNode(name: string): Promise<void> {
    await this.#end(name, 'SIGKILL');
  }

  async kubectl(...args: readonly string[]): Promise<string> {
    return (await run(this.#kubectl, args, { env: this.#env, timeout: LIMIT_MS })).stdout;
  }

  /** What `podloop get` says of the pods of the control plane. */
  async controlPlane(): Promise<string> {
    const socket = ['--socket', join(this.#folder, 'laptop/podloop.sock')];
    const args = [PODLOOP_MAIN, 'get', 'pods', '-n', 'kube-system', '--no-headers', ...socket];
    return (await run(process.execPath, args, { env: this.#env, timeout: LIMIT_MS })).stdout;
  }

  /** The pods of the Deployment that are not about to go, by node. */
  async podsByNode(): Promise<Map<string, number>> {
    const { items } = JSON.parse(await this.kubectl('get', 'pods', '-l', 'app=hello', '-o', 'json')) as {
      items: { metadata: { deletionTimestamp?: string }; spec: { nodeName?: string } }[];
    };
    const byNode = new Map<string, number>();
    for (const { metadata, spec } of items) {
      if (metadata.deletionTimestamp !== undefined || spec.nodeName === undefined) continue;
      byNode.set(spec.nodeName, (byNode.get(spec.nodeName) ?? 0) + 1);
    }
    return byNode;
  }

  /** The process of a program of the control plane. */
  async pidOf(program: string): Promise<number> {
    const { stdout } = await run('pgrep', ['-o', '-f', `^${join(this.#folder, 'bin', program)} `]);
    return Number(stdout.trim());
  }

  async endNode(name: string): Promise<void> {
    await this.#end(name, 'SIGTERM');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of NODES) await this.#end(name, 'SIGTERM');
    await this.#end('laptop', 'SIGTERM');
    // Embedded runtimes end by themselves, soon after their agents.
    await untilAsync('the end of all runtimes', async () => (await this.#runtimes()) === '', LIMIT_MS);
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #runtimes(): Promise<string> {
    return await run('pgrep', ['-f', `${this.#folder}/`]).then(
      ({ stdout }) => stdout,
      () => '',
    );
  }

  #here(text: string): string {
    let here = text;
    for (const [from, to] of this.#replacements) {
      here = here.replaceAll(from, to);
      // Ports of probes and of options stand without a host.
      if (from.startsWith(':'))
        here = here
          .replaceAll(`port: ${from.slice(1)}`, `port: ${to.slice(1)}`)
          .replaceAll(`-port=${from.slice(1)}`, `-port=${to.slice(1)}`);
    }
    return here;
  }

  #start(name: string, program: string, ...args: readonly string[]): void {
    this.#started.set(name, spawn(program, args, { env: this.#env, stdio: 'ignore' }));
  }

  async #end(name: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#started.get(name);
    this.#started.delete(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }
}

const lacks = 'missing' in found || found.binaries.kubectl === undefined || process.getuid?.() !== 0;

describe.skipIf(lacks)('the guide from one machine to a cluster', () => {
  let lab: Lab;
  const until = async (what: string, isSo: () => Promise<boolean>): Promise<boolean> =>
    await untilAsync(what, isSo, LIMIT_MS);
  const ready = async (): Promise<number> =>
    (await lab.kubectl('get', 'nodes', '--no-headers')).match(/ Ready /g)?.length ?? 0;
  const rolledOut = async (): Promise<string> =>
    await lab.kubectl('rollout', 'status', 'deployment/hello', '--timeout=150s');

  beforeAll(async () => {
    if ('missing' in found) return;
    lab = await Lab.make(found.binaries);
  });

  afterAll(async () => {
    await lab[Symbol.asyncDispose]();
  });

  it('runs the control plane as four pods of one podloop', async () => {
    await lab.makeCredentials();
    await lab.startControlPlane();
    await until('an API server', async () => (await lab.kubectl('get', '--raw', '/readyz')) === 'ok');
    await until('four pods that are ready', async () => {
      const lines = (await lab.controlPlane()).trim().split('\n');
      return lines.length === 4 && lines.every((line) => / 1\/1 +Running /.test(line));
    });
  });

  it('has three nodes', async () => {
    for (const name of NODES) lab.startNode(name);
    await until('three nodes that are Ready', async () => (await ready()) === 3);
  });

  it('runs a Deployment on all of them, and reaches into its pods', async () => {
    await lab.kubectl('apply', '--validate=strict', '-f', join(EXAMPLES, 'hello.yaml'));
    await rolledOut();
    expect([...(await lab.podsByNode()).keys()].sort()).toEqual(NODES);
    await until('three lines', async () => {
      const lines = await lab.kubectl('logs', '-l', 'app=hello', '--tail', '1');
      return NODES.every((name) => lines.includes(`hello from ${name}`));
    });
    expect(await lab.kubectl('exec', 'deploy/hello', '--', 'hostname')).toMatch(/^hello-/);
  });

  it('is scaled, and drained of pods', async () => {
    await lab.kubectl('scale', 'deployment/hello', '--replicas', '9');
    await rolledOut();
    await lab.kubectl('drain', 'node-2', '--ignore-daemonsets');
    await rolledOut();
    expect((await lab.podsByNode()).has('node-2')).toBe(false);
    await lab.kubectl('uncordon', 'node-2');
  });

  it('moves pods of a node that was killed, and has it clean up when it is back', async () => {
    await lab.killNode('node-3');
    await until('no pod left to it', async () => !(await lab.podsByNode()).has('node-3'));
    await rolledOut();
    lab.startNode('node-3');
    const name = 'spec.nodeName=node-3';
    await until('no pod of before', async () => {
      const lines = await lab.kubectl('get', 'pods', '--field-selector', name, '--no-headers');
      return lines === '' && (await ready()) === 3;
    });
  });

  it('has its API server restarted by the podloop that runs it, and no pod minds', async () => {
    const before = await lab.kubectl('get', 'pods', '-o', 'name');
    process.kill(await lab.pidOf('kube-apiserver'), 'SIGKILL');
    await until('a restart', async () =>
      /kube-apiserver-laptop +1\/1 +Running +[1-9]/.test(await lab.controlPlane()),
    );
    await until('three nodes that are Ready', async () => (await ready()) === 3);
    expect(await lab.kubectl('get', 'pods', '-o', 'name')).toBe(before);
  });

  it('goes without leaving anything', async () => {
    await lab.kubectl('delete', 'deployment', 'hello');
    await lab.kubectl('wait', '--for=delete', 'pod', '-l', 'app=hello', '--timeout=120s');
    for (const name of NODES) await lab.endNode(name);
  });
});
