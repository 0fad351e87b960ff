import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';

import { type Node } from '../../src/cluster/client/kube-objects.js';
import { type ControlPlane } from '../cluster/harness/control-plane.js';
import { isReady } from '../cluster/harness/is-ready.js';
import { untilAsync } from '../cluster/harness/until-async.js';
import { type Containerd } from '../containerd/harness/containerd.js';
import { unmountBelow } from '../containerd/harness/leftovers.js';

/** What a {@link PodloopNode} is made of; paths absolute. */
export interface PodloopNodeOptions {
  readonly plane: ControlPlane;
  readonly containerd: Containerd;
  /** The built program. */
  readonly podloop: string;
  /** Empty; its records, volumes and logs go here. */
  readonly folder: string;
  /** For the end: what unmounts. */
  readonly busybox: string;
}

const NODE_NAME = 'e2e-node';
/** Some specs ask there, whatever the Node says. The node has its addresses for itself. */
const USUAL_PORT = '10250';
const MAX_END_MS = 30_000;

/** A `podloop run --kubeconfig` on a containerd, at the address of containerd's bridge. */
export class PodloopNode implements AsyncDisposable {
  readonly logFile: string;
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #busybox: string;

  /** Starts it and waits until its Node is Ready. */
  static async start(options: PodloopNodeOptions): Promise<PodloopNode> {
    const { plane, containerd, folder } = options;
    await mkdir(folder, { recursive: true });
    // Pods and the API server both reach it; a Node has no loopback addresses.
    const address = `${containerd.names.subnet}.1`;
    const node = new PodloopNode(options, [
      ...['run', '--kubeconfig', await plane.nodeKubeconfig(NODE_NAME), '--node-name', NODE_NAME],
      ...['--runtime-endpoint', containerd.endpoint, '--cgroup-root', containerd.names.cgroupParent],
      ...['--root-dir', path.join(folder, 'root'), '--pod-logs-dir', path.join(folder, 'logs')],
      ...['--node-ip', address, '--address', address, '--port', USUAL_PORT],
      ...['--client-ca-file', plane.keys.file('ca.crt'), '--read-only-port', '0', '-v', '3'],
    ]);
    try {
      await untilAsync('a Node that is Ready', async () => {
        if (node.#child.exitCode !== null) return true;
        const asked = { method: 'GET', path: `/api/v1/nodes/${NODE_NAME}` } as const;
        return isReady(await plane.admin.request<Node>(asked));
      });
      if (node.#child.exitCode !== null) throw new Error('podloop has ended');
      return node;
    } catch (error) {
      await node[Symbol.asyncDispose]();
      throw new Error(`there is no node; ${node.logFile} says more`, { cause: error });
    }
  }

  private constructor({ podloop, folder, busybox }: PodloopNodeOptions, args: readonly string[]) {
    this.logFile = path.join(folder, 'podloop.log');
    this.#folder = folder;
    this.#busybox = busybox;
    const log = openSync(this.logFile, 'a');
    try {
      this.#child = spawn(process.execPath, [podloop, ...args], {
        stdio: ['ignore', log, log],
        // Ctrl-C is for the suite first: it cleans up through the node.
        detached: true,
      });
    } finally {
      closeSync(log);
    }
  }

  /** Ends it; its pods are containerd's to remove. What was mounted for them is unmounted. */
  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#child;
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const impatient = setTimeout(() => child.kill('SIGKILL'), MAX_END_MS);
      await ended;
      clearTimeout(impatient);
    }
    await unmountBelow(this.#folder, this.#busybox);
  }
}
