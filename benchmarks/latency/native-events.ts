import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type Containerd } from '../../test/containerd/harness/containerd.js';
import { readInstalled } from '../../test/containerd/harness/installed.js';

/** Reads `ctr events`, which takes nothing from the readers of CRI's events. */
export class NativeEvents implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exits = new Map<string, number>();
  readonly #ended: Promise<unknown>;

  static async start(containerd: Containerd): Promise<NativeEvents> {
    const { binFolders } = await readInstalled();
    const ctr = `${binFolders[containerd.release]}/ctr`;
    const child = spawn(ctr, ['-a', containerd.names.socket, '-n', 'k8s.io', 'events'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child, 'spawn');
    return new NativeEvents(child);
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, 'exit');
    createInterface({ input: child.stdout! }).on('line', (line) => this.#take(line));
  }

  /** Monotonic milliseconds at which the end of that container was told here; undefined when it was not. */
  findExit(containerId: string): number | undefined {
    return this.#exits.get(containerId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill();
    await this.#ended;
  }

  #take(line: string): void {
    const arrivedAtMs = performance.now();
    const containerId = parseExit(line);
    if (containerId !== undefined) this.#exits.set(containerId, arrivedAtMs);
  }
}

/** The container whose first process ended, by a line of `ctr events`; undefined for lines about anything else. */
export function parseExit(line: string): string | undefined {
  const [, payload] = line.split(' /tasks/exit ');
  if (payload === undefined) return undefined;
  const { container_id, id } = JSON.parse(payload) as { container_id: string; id: string };
  // A process that was started by exec has an id of its own.
  return id === container_id ? container_id : undefined;
}
