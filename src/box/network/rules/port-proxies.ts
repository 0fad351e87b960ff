import { spawn } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock } from '#base/time/clock.js';
import { toNodeCommand } from '#base/program/node-script.js';
import { defer } from '../../deferred.js';
import { isAlive, type ProcessIdentity } from '../../process/child-identity.js';
import { sendSignal } from '../../process/process-table.js';
import { readIfThere, writeIfOther } from '#base/fs/whole-file.js';
import { refused } from '../../rpc-error.js';
import { type AttachmentRecord, type HostPort } from '../links/attachment-record.js';
import { PORT_PROXY_SCRIPT } from './port-proxy-script.js';

/** What {@link PortProxies.open} takes. */
export interface PortProxiesOptions {
  /** Folder for the script and for the files that name the running proxies. */
  readonly dir: string;
  readonly clock: Clock;
  /** Puts in front of a command what makes it run in the host's network. */
  readonly wrap: (argv: readonly string[]) => readonly string[];
  /** Where the record of a sandbox is: a proxy ends when it goes. */
  readonly recordPathOf: (sandboxId: string) => string;
  /** The Node to run proxies with (default: the one that runs this). */
  readonly node?: string;
}

/** Starting Node takes some 50 ms; this is for machines that have lost their way. */
const READY_MS = 15_000;
const DEATH_MS = 2_000;
const POLL_MS = 5;
const SUFFIX = '.pid';
/** What makes Node as small as it gets: a proxy holds buffers, which are not on this heap. */
const NODE_FLAGS = ['--max-semi-space-size=1', '--max-old-space-size=64', '--v8-pool-size=0'];

/** Runs one proxy process for each sandbox that has host ports: they outlive the runtime, and it finds them again. */
export class PortProxies {
  readonly #options: PortProxiesOptions;
  readonly #script: string;

  private constructor(options: PortProxiesOptions) {
    this.#options = options;
    this.#script = join(options.dir, 'port-proxy.cjs');
  }

  static async open(options: PortProxiesOptions): Promise<PortProxies> {
    const proxies = new PortProxies(options);
    await writeIfOther(proxies.#script, PORT_PROXY_SCRIPT);
    return proxies;
  }

  /** Rejects when one of the ports cannot be had on the host now. Leaves nothing behind. */
  async check(hostPorts: readonly HostPort[], signal: AbortSignal | undefined): Promise<void> {
    await this.#spawn({ hostPorts, check: true }, signal);
  }

  /** Starts a proxy and waits until it has every port. Rejects, with nothing left, when it cannot have one. */
  async start(record: AttachmentRecord, address: string, signal: AbortSignal | undefined): Promise<void> {
    const { sandboxId, holder, hostPorts } = record;
    const identityPath = this.#identityPath(sandboxId);
    const recordPath = this.#options.recordPathOf(sandboxId);
    await this.#spawn({ address, hostPorts, holder, recordPath, identityPath }, signal);
  }

  /** Whether the proxy of a sandbox runs. */
  async isRunning(sandboxId: string): Promise<boolean> {
    const identity = await this.#readIdentity(sandboxId);
    return identity !== undefined && isAlive(identity);
  }

  /** Ends the proxy of a sandbox; that there is none is fine. */
  async stop(sandboxId: string): Promise<void> {
    const { clock } = this.#options;
    const identity = await this.#readIdentity(sandboxId);
    if (identity !== undefined && sendSignal(identity, 'SIGKILL')) {
      const deadline = clock.monotonicMs() + DEATH_MS;
      while (isAlive(identity)) {
        if (clock.monotonicMs() > deadline) throw refused(`the port proxy ${identity.pid} does not end`);
        await clock.sleep(POLL_MS);
      }
    }
    await rm(this.#identityPath(sandboxId), { force: true });
  }

  /** Ends every proxy for which `isWanted` returns false. */
  async stopOthers(isWanted: (sandboxId: string) => boolean): Promise<void> {
    for (const name of await readdir(this.#options.dir)) {
      if (name.endsWith('.tmp')) await rm(join(this.#options.dir, name), { force: true });
      if (!name.endsWith(SUFFIX)) continue;
      const sandboxId = name.slice(0, -SUFFIX.length);
      if (!isWanted(sandboxId)) await this.stop(sandboxId);
    }
  }

  #identityPath(sandboxId: string): string {
    return join(this.#options.dir, `${sandboxId}${SUFFIX}`);
  }

  async #readIdentity(sandboxId: string): Promise<ProcessIdentity | undefined> {
    const [pid = '', startTicks = ''] = ((await readIfThere(this.#identityPath(sandboxId))) ?? '').split(' ');
    return /^\d+$/.test(pid) && startTicks !== '' ? { pid: Number(pid), startTicks } : undefined;
  }

  async #spawn(task: object, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const { wrap, node, clock } = this.#options;
    const script = { file: this.#script };
    const { argv, env } = toNodeCommand({ script, args: [JSON.stringify(task)], flags: NODE_FLAGS, node });
    const [file = '', ...args] = wrap(argv);
    const child = spawn(file, args, {
      cwd: '/',
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
      env,
    });
    const answer = defer<string>();
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('\n')) answer.resolve(text.trim());
    });
    child.once('error', (error) => answer.resolve(`${file} cannot be executed: ${error.message}`));
    child.once('close', () => answer.resolve(text.trim() || 'the port proxy ended at its start'));
    const limit = clock.setTimer(READY_MS, () =>
      answer.resolve(`the port proxy was not ready in ${READY_MS} ms`),
    );
    const onAbort = (): void => answer.resolve('');
    signal?.addEventListener('abort', onAbort, { once: true });
    const said = await answer.promise;
    limit.cancel();
    signal?.removeEventListener('abort', onAbort);
    child.stdout.destroy();
    child.unref();
    if (said === 'ready') return;
    // Not reaped yet, so the number is still its own; a child that has ended is no longer signalled.
    child.kill('SIGKILL');
    signal?.throwIfAborted();
    throw refused(`host port ${said}`);
  }
}
