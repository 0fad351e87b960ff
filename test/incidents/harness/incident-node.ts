/**
 * A node to make incidents on: a containerd of its own with a slow runc in its place, and a real kubelet beside it that
 * runs static pods.
 *
 * In: the release of containerd, and `KUBEBUILDER_ASSETS` with a kubelet in it. Out: pods by name, with the pids of their
 * shims and containers, and what the doctor finds. Whatever an incident stops, it lets go again; disposing of the node
 * removes the rest.
 *
 * @module
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { SystemClock } from '#base/time/clock.js';
import { findFreePort } from '#support/clients/tcp-client.js';
import { patiently } from '#support/patience.js';
import { type Diagnosis, runDoctor } from '../../../src/node/doctor/doctor-run.js';
import { type Containerd, startContainerd } from '../../containerd/harness/containerd.js';
import { runtimeService } from '../../containerd/harness/cri-driver.js';
import { BUSYBOX_IMAGE } from '../../containerd/harness/image.js';
import { readInstalled, type Release } from '../../containerd/harness/installed.js';
import { kubeletConfig } from '../../containerd/harness/kubelet-config.js';
import {
  findByArguments,
  findDescendants,
  type ProcessIdentity,
} from '../../containerd/harness/processes.js';
import { HangingRunc } from './hanging-runc.js';

const run = promisify(execFile);
const NODE_NAME = 'incident';
/** Room for the bundles of some tens of pods. */
const STATE_MIB = 32;
const START_TIMEOUT_MS = 120_000;
const PODS_TIMEOUT_MS = 90_000;

/** A static pod. */
export interface PodSpec {
  readonly name: string;
  /** A shell script (default: it sleeps). */
  readonly script?: string;
  /** Fields of the container beside its name, image and command. */
  readonly container?: object;
  /** Fields of the pod's spec beside its containers. */
  readonly spec?: object;
}

/** A pod that runs. */
export interface RunningPod {
  /** As the kubelet names it: `default/NAME-incident`. */
  readonly fullName: string;
  readonly sandboxId: string;
  readonly containerId: string;
  readonly shim: ProcessIdentity;
  /** The container's processes. */
  readonly processes: readonly ProcessIdentity[];
}

/** What an examination gave, and after how long. */
export interface Examination extends Diagnosis {
  readonly tookMs: number;
}

/** See the module. */
export class IncidentNode implements AsyncDisposable {
  readonly containerd: Containerd;
  readonly runc: HangingRunc;
  /** Folders of certificates that the doctor is asked to judge. */
  certificateFolders: readonly string[] = [];
  /** Where the next kubelet finds the runtime (default: at the socket of containerd). */
  runtimeEndpoint: string;
  readonly #kubelet: string;
  readonly #folder: string;
  readonly #cgroupDriver: string;
  #process: ChildProcess | undefined;
  #readOnlyPort = 0;
  #healthzPort = 0;

  private constructor(containerd: Containerd, runc: HangingRunc, kubelet: string, cgroupDriver: string) {
    this.#cgroupDriver = cgroupDriver;
    this.containerd = containerd;
    this.runtimeEndpoint = containerd.endpoint;
    this.runc = runc;
    this.#kubelet = kubelet;
    this.#folder = path.join(containerd.folder, 'kubelet');
  }

  /** @param cgroupDriver of containerd and of the kubelet */
  static async start(
    version: Release,
    kubelet: string,
    workFolder: string,
    cgroupDriver: 'cgroupfs' | 'systemd' = 'cgroupfs',
  ): Promise<IncidentNode> {
    const { runcFolder, busybox } = await readInstalled();
    const runc = await HangingRunc.create(workFolder, path.join(runcFolder, 'runc'), busybox);
    const settings = { version, ociRuntime: runc.program, stateMiB: STATE_MIB, cgroupDriver };
    const containerd = await startContainerd(settings);
    const node = new IncidentNode(containerd, runc, kubelet, cgroupDriver);
    try {
      await mkdir(path.join(node.#folder, 'manifests'), { recursive: true });
      await node.startKubelet();
      return node;
    } catch (error) {
      await node[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Of the kubelet that runs now. */
  get kubeletPid(): number {
    return this.#process!.pid!;
  }

  /** Where the kubelet that runs now serves its metrics, and its health. */
  get kubeletUrls(): { readonly url: string; readonly healthzUrl: string } {
    return {
      url: `http://127.0.0.1:${this.#readOnlyPort}`,
      healthzUrl: `http://127.0.0.1:${this.#healthzPort}/healthz`,
    };
  }

  async startKubelet(): Promise<void> {
    const [port, readOnlyPort, healthzPort] = [
      await findFreePort(),
      await findFreePort(),
      await findFreePort(),
    ];
    this.#readOnlyPort = readOnlyPort;
    this.#healthzPort = healthzPort;
    const config = {
      ...kubeletConfig({
        ...{ endpoint: this.runtimeEndpoint, port },
        manifests: path.join(this.#folder, 'manifests'),
        podLogsDir: path.join(this.#folder, 'logs'),
      }),
      ...{ readOnlyPort, healthzPort, healthzBindAddress: '127.0.0.1', fileCheckFrequency: '1s' },
      ...(this.#cgroupDriver === 'systemd'
        ? // runc gets the slice of a pod from the kubelet's own tree alone.
          { cgroupDriver: 'systemd', cgroupsPerQOS: true }
        : { cgroupRoot: this.containerd.names.cgroupParent }),
    };
    const configFile = path.join(this.#folder, 'kubelet.json');
    await writeFile(configFile, JSON.stringify(config));
    const log = await open(this.kubeletLog, 'a');
    const args = [
      ...['--config', configFile, '--hostname-override', NODE_NAME, '--v=2'],
      ...['--root-dir', path.join(this.#folder, 'root'), '--cert-dir', path.join(this.#folder, 'pki')],
    ];
    this.#process = spawn(this.#kubelet, args, { stdio: ['ignore', log.fd, log.fd], detached: true });
    await once(this.#process, 'spawn');
    await log.close();
    await until('the kubelet is healthy', START_TIMEOUT_MS, async () => {
      const answer = await fetch(`http://127.0.0.1:${healthzPort}/healthz`).catch(() => undefined);
      return answer?.ok === true;
    });
  }

  async endKubelet(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    child.kill('SIGCONT');
    await ended;
  }

  get kubeletLog(): string {
    return path.join(this.#folder, 'kubelet.log');
  }

  /** The kubelet's metrics, as text; empty when it does not answer. */
  async readMetrics(): Promise<string> {
    const signal = AbortSignal.timeout(5_000);
    const answer = await fetch(`${this.kubeletUrls.url}/metrics`, { signal }).catch(() => undefined);
    return (await answer?.text()) ?? '';
  }

  /** What the kubelet has written and counted until now. */
  async readTraces(): Promise<{ log: string; metrics: string }> {
    const log = await readFile(this.kubeletLog, 'utf8').catch(() => '');
    return { log, metrics: await this.readMetrics() };
  }

  /** Gives the kubelet a pod. */
  async want({ name, script = 'exec sleep 100000', container = {}, spec = {} }: PodSpec): Promise<void> {
    const pod = {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' } },
      spec: {
        ...{ hostNetwork: true, terminationGracePeriodSeconds: 1, ...spec },
        containers: [
          {
            ...{ name: 'app', image: BUSYBOX_IMAGE, imagePullPolicy: 'IfNotPresent' },
            ...{ command: ['/bin/sh', '-c', script], ...container },
          },
        ],
      },
    };
    // Whole at once: the kubelet reads the folder while this is written.
    const file = this.#manifest(name);
    await writeFile(`${this.#folder}/${name}.new`, JSON.stringify(pod));
    await rename(`${this.#folder}/${name}.new`, file);
  }

  async unwant(name: string): Promise<void> {
    await rm(this.#manifest(name), { force: true });
  }

  async unwantAll(): Promise<void> {
    const folder = path.join(this.#folder, 'manifests');
    for (const name of await readdir(folder)) await rm(path.join(folder, name), { force: true });
  }

  /** Gives the kubelet a pod and waits until it runs. */
  async run(spec: PodSpec): Promise<RunningPod> {
    await this.want(spec);
    return await this.find(spec.name);
  }

  /** Waits until a pod runs. */
  async find(name: string): Promise<RunningPod> {
    let found: RunningPod | undefined;
    await until(
      `pod ${name} runs`,
      PODS_TIMEOUT_MS,
      async () => (found = await this.#findOnce(name)) !== undefined,
    );
    return found!;
  }

  /** Waits until nothing is left of a pod that is not wanted any more. */
  async gone(name: string): Promise<void> {
    await until(`pod ${name} is gone`, PODS_TIMEOUT_MS, async () => {
      const { items } = await this.containerd.driver.call(runtimeService.listPodSandbox, {
        filter: undefined,
      });
      return !items.some(({ metadata }) => metadata?.name === `${name}-${NODE_NAME}`);
    });
  }

  /** Leaves a process room for so many more open files than it has, or sets its old limits; resolves with those of before. */
  async limitFiles(pid: number, limit: number | string): Promise<string> {
    const before = /^Max open files\s+(\d+)\s+(\d+)/m.exec(await readFile(`/proc/${pid}/limits`, 'utf8'));
    const open = (await readdir(`/proc/${pid}/fd`)).length;
    // The hard limit stays: only a privileged process could raise it again.
    const wanted = typeof limit === 'string' ? limit : `${open + limit}:${before![2]}`;
    await run('prlimit', ['--pid', String(pid), `--nofile=${wanted}`]);
    return `${before![1]}:${before![2]}`;
  }

  fullNameOf(name: string): string {
    return `default/${name}-${NODE_NAME}`;
  }

  /** What `podloop doctor` finds, with its defaults. */
  async examine(): Promise<Examination> {
    const startedMs = performance.now();
    const { url, healthzUrl } = this.kubeletUrls;
    const diagnosis = await runDoctor({
      ...{ runtimeEndpoint: this.containerd.endpoint, clock: new SystemClock(), hostRoot: '/' },
      ...{ signal: new AbortController().signal, timeoutMs: 10_000, watchMs: 3_000, events: 'auto' },
      ...{ mayWrite: true, certificateFolders: this.certificateFolders },
      kubelet: { urls: [url], healthzUrl, credentials: {} },
      readAgent: () => Promise.reject(new Error('there is none')),
      readAgentPods: () => Promise.reject(new Error('there is none')),
    });
    return { ...diagnosis, tookMs: performance.now() - startedMs };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runc.release();
    await this.endKubelet();
    await this.containerd[Symbol.asyncDispose]();
  }

  #manifest(name: string): string {
    return path.join(this.#folder, 'manifests', `${name}.json`);
  }

  async #findOnce(name: string): Promise<RunningPod | undefined> {
    const { driver } = this.containerd;
    const fullName = `${name}-${NODE_NAME}`;
    const { containers } = await driver.call(runtimeService.listContainers, { filter: undefined });
    const container = containers.find(
      ({ labels, state }) => labels['io.kubernetes.pod.name'] === fullName && state === 1,
    );
    if (container === undefined) return undefined;
    const { id: containerId, podSandboxId: sandboxId } = container;
    const [shim] = await findByArguments('-id', sandboxId);
    if (shim === undefined) return undefined;
    const processes = await findDescendants(shim);
    return { fullName: `default/${fullName}`, sandboxId, containerId, shim, processes };
  }
}

/** Polls a condition; throws when it does not come true in time. */
export async function until(
  what: string,
  timeoutMs: number,
  condition: () => Promise<boolean>,
): Promise<void> {
  const deadline = performance.now() + patiently(timeoutMs);
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`it did not come true that ${what}`);
    await sleep(200);
  }
}
