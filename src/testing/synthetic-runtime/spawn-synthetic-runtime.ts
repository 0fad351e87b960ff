import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ControlMessage, type ControlRequest, createRemoteControl } from './control-channel.js';
import { type SyntheticRuntime, type SyntheticRuntimeOptions } from './serve-synthetic-runtime.js';

/** A synthetic runtime in a process of its own. */
export interface SpawnedSyntheticRuntime extends SyntheticRuntime {
  readonly pid: number;
}

/** The process ends by itself when told; after so long it is killed. */
const CLOSE_GRACE_MS = 2000;

/**
 * Starts a synthetic runtime in a child process, on a socket in a temporary folder of its own.
 *
 * The child runs the built package, also when the caller's own code is run from its sources: build first. Rejects
 * with a sentence about that when the build is missing. Whoever calls must `close()` it, or use `await using`; the
 * child also ends when its parent does.
 */
export async function spawnSyntheticRuntime(
  options: SyntheticRuntimeOptions,
): Promise<SpawnedSyntheticRuntime> {
  const mainPath = findMain();
  const folder = await mkdtemp(path.join(tmpdir(), 'podloop-synthetic-'));
  const child = fork(mainPath, [path.join(folder, 'cri.sock'), JSON.stringify(options)], {
    execArgv: [],
    serialization: 'advanced', // for the bigints
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const channel = new ChildChannel(child);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> =>
    (closing ??= endChild(child).then(() => rm(folder, { recursive: true, force: true })));
  try {
    const endpoint = await channel.ready;
    return {
      endpoint,
      pid: child.pid!,
      control: createRemoteControl((method, args) => channel.call({ method, args })),
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The built entry of the child, whether this file runs from dist/ or from src/. */
function findMain(): string {
  const here = path.dirname(fileURLToPath(import.meta.url));
  const mainPath = path.join(import.meta.url.endsWith('.ts') ? toBuiltFolder(here) : here, 'main.js');
  if (existsSync(mainPath)) return mainPath;
  throw new Error(
    `${mainPath} is missing: run "npm run build" first, the synthetic runtime runs from the build`,
  );
}

function toBuiltFolder(sourceFolder: string): string {
  const at = sourceFolder.lastIndexOf(`${path.sep}src${path.sep}`);
  return path.join(sourceFolder.slice(0, at), 'dist', sourceFolder.slice(at + 5));
}

/** Requests and answers over the channel to a child. */
class ChildChannel {
  readonly ready: Promise<string>;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<
    number,
    { resolve: (result: unknown) => void; reject: (error: Error) => void }
  >();
  #lastId = 0;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.ready = new Promise((resolve, reject) => {
      child.on('message', (message) => this.#take(message as ControlMessage, resolve, reject));
      child.on('error', reject);
      child.on('exit', (code, signal) => {
        const gone = new Error(`the synthetic runtime ended (${signal ?? `exit code ${code ?? 'unknown'}`})`);
        reject(gone);
        for (const { reject: refuse } of this.#waiting.values()) refuse(gone);
        this.#waiting.clear();
      });
    });
  }

  async call(request: Omit<ControlRequest, 'id'>): Promise<unknown> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, ...request }, (error) => {
        if (error === null) return;
        this.#waiting.delete(id);
        reject(error);
      });
    });
  }

  #take(message: ControlMessage, ready: (endpoint: string) => void, failed: (error: Error) => void): void {
    switch (message.kind) {
      case 'ready':
        ready(message.endpoint);
        return;
      case 'failed':
        failed(new Error(message.message));
        return;
      case 'answer':
        this.#waiting.get(message.id)?.resolve(message.result);
        break;
      case 'refused':
        this.#waiting.get(message.id)?.reject(new Error(message.message));
        break;
    }
    this.#waiting.delete(message.id);
  }
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  if (child.connected) child.disconnect();
  const kill = setTimeout(() => child.kill('SIGKILL'), CLOSE_GRACE_MS);
  await exited;
  clearTimeout(kill);
}
