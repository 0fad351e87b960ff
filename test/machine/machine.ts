/**
 * One machine under QEMU: boots an image, runs commands in it as root over ssh, is killed, boots again on the same disk,
 * and leaves nothing.
 *
 * In: an image of node-image.ts, and perhaps a further disk with files. Out: {@link Machine}. The
 * emulator dies with the process that started it, whatever ends that; the key is made for each machine and never in
 * an image. A machine is ready when sshd answers and systemd has started what the image enables.
 *
 * @module
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { access, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { SEARCH_PATH } from './host-tools.js';
import { type NodeImage } from './node-image.js';
import { emulatorArguments, type EmulatorOptions, findAcceleration } from './qemu-command.js';

const execute = promisify(execFile);
const env = { ...process.env, PATH: SEARCH_PATH };

/** An emulated machine takes 75 s on an idle host, and several times that on a busy one. */
const BOOT_LIMIT_MS = 20 * 60_000;
const COMMAND_LIMIT_MS = 5 * 60_000;
/** The kernel panics now and then in its first seconds under emulation, mostly before any of the image's programs ran. */
const BOOT_ATTEMPTS = 3;
const PANIC = 'Kernel panic - not syncing';
/** More than this of a command's output is not collected; {@link RunOptions.onOutput} sees all of it. */
const MAX_OUTPUT = 16 * 1024 * 1024;

/** How a machine is made. */
export interface BootOptions {
  /**
   * A qcow2 file of the caller's, which stays when the machine is disposed of: an existing one is booted again, a
   * missing one is made over the image. Default: a disk in the machine's own folder, removed with it.
   */
  readonly disk?: string;
  /** How the emulator treats writes (default: `unsafe`, the fastest; what the guest has flushed survives a kill). */
  readonly cache?: EmulatorOptions['cache'];
  /** A raw disk that the machine sees as /dev/vdb; what it writes there is gone after each kill. */
  readonly payload?: string;
  /** Appended to the kernel's command line. */
  readonly kernelWords?: readonly string[];
  /** More arguments of the emulator, such as further disks. */
  readonly emulatorArguments?: readonly string[];
  /** Ends what is waited for. */
  readonly signal?: AbortSignal;
}

/** How a command is run. */
export interface RunOptions {
  /** The command is ended after that time (default: 5 min). */
  readonly timeoutMs?: number;
  /** Written to its standard input. */
  readonly input?: string;
  /** A part of its standard output or standard error. */
  readonly onOutput?: (text: string) => void;
  readonly signal?: AbortSignal;
}

/** What became of a command. */
export interface CommandEnd {
  /** 255 where the connection broke. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

/** Boots an image and waits until the machine is ready; rejects with the end of its console when it is not in time. */
export async function bootMachine(image: NodeImage, options: BootOptions = {}): Promise<Machine> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'podloop-machine-'));
  const machine = new Machine(image, options, folder);
  try {
    await machine.prepare();
    await machine.bootAgain();
    return machine;
  } catch (error) {
    await machine[Symbol.asyncDispose]();
    throw error;
  }
}

/** A booted machine. Dispose of it to end the emulator and to remove its files. */
export class Machine implements AsyncDisposable {
  readonly image: NodeImage;
  /** Everything of this machine's own lies here. */
  readonly folder: string;
  readonly disk: string;
  readonly #options: BootOptions;
  #boots = 0;
  #hasMadeDisk = false;
  #sshPort = 0;
  #emulator: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();

  constructor(image: NodeImage, options: BootOptions, folder: string) {
    this.image = image;
    this.folder = folder;
    this.disk = options.disk ?? path.join(folder, 'disk.qcow2');
    this.#options = options;
  }

  /** Of the emulator; undefined while none runs. */
  get pid(): number | undefined {
    return this.#emulator?.pid;
  }

  /** All that the machine wrote to its serial console since it was made. */
  get consoleLog(): string {
    return path.join(this.folder, `console-${this.#boots}.log`);
  }

  /** Makes the key and the disk. */
  async prepare(): Promise<void> {
    await execute('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'machine', '-f', this.#key], { env });
    const isThere = await access(this.disk).then(
      () => true,
      () => false,
    );
    if (isThere) return;
    this.#hasMadeDisk = true;
    await this.#makeDisk();
  }

  /** Replaces it by a new one. */
  async #makeDisk(): Promise<void> {
    const backing = ['-b', this.image.disk, '-F', 'raw'];
    await execute('qemu-img', ['create', '-q', '-f', 'qcow2', ...backing, this.disk], { env });
  }

  /**
   * Starts the emulator on the disk as it is now, and waits until the machine is ready. A kernel that panics before it
   * runs the first program has touched nothing: then it boots again. In the first boot of its disk nobody of ours has run yet, so that
   * a panic at any time is the emulation's: then it boots again from a new disk.
   */
  async bootAgain(): Promise<void> {
    const isFirst = this.#boots === 0 && this.#hasMadeDisk;
    for (let attempt = 1; ; attempt++) {
      await this.#startEmulator();
      try {
        await this.#untilReady();
        return;
      } catch (error) {
        const isHarmless = error instanceof KernelPanic && (error.isEarly || isFirst);
        if (!isHarmless || attempt === BOOT_ATTEMPTS) throw error;
        await this.kill();
        if (isFirst) await this.#makeDisk();
      }
    }
  }

  async #startEmulator(): Promise<void> {
    if (this.#emulator !== undefined) throw new Error('the machine runs already');
    const { payload, cache = 'unsafe', kernelWords, emulatorArguments: more } = this.#options;
    this.#boots++;
    this.#sshPort = await findFreePort();
    const args = emulatorArguments({
      ...{ kernel: this.image.kernel, initrd: this.image.initrd, disk: this.disk, cache },
      ...{ consoleLog: this.consoleLog, sshPort: this.#sshPort },
      ...{ publicKey: await readFile(`${this.#key}.pub`, 'utf8'), acceleration: findAcceleration() },
      ...(payload === undefined ? {} : { payload }),
      ...(kernelWords === undefined ? {} : { kernelWords }),
      ...(more === undefined ? {} : { more }),
    });
    const log = await open(path.join(this.folder, 'emulator.log'), 'a');
    try {
      // Should this process be killed, the kernel ends the emulator.
      const program = ['--pdeathsig', 'KILL', 'qemu-system-x86_64', ...args];
      const emulator = spawn('setpriv', program, {
        ...{ env, stdio: ['ignore', log.fd, log.fd] },
        // Ctrl-C is for the run, which ends the emulator last.
        detached: true,
      });
      this.#emulator = emulator;
      this.#exited = new Promise((resolve) => {
        emulator.once('exit', () => resolve());
        emulator.once('error', () => resolve());
      });
    } finally {
      await log.close();
    }
  }

  /**
   * Runs a script of bash as root and answers with how it ended; rejects only when it is aborted. A command that takes
   * too long is ended in the machine, too.
   */
  async run(script: string, options: RunOptions = {}): Promise<CommandEnd> {
    const { timeoutMs = COMMAND_LIMIT_MS } = options;
    const seconds = Math.ceil(timeoutMs / 1_000);
    const remote = `exec timeout --kill-after=30 ${seconds} bash -c ${quote(script)}`;
    // The machine ends the command itself; a machine that hangs is given up a little later.
    const end = await this.#ssh([remote], options, timeoutMs + 120_000);
    return { ...end, timedOut: end.timedOut || end.code === 124 || end.code === 137 };
  }

  /** As {@link run}; rejects with what the command wrote to standard error unless it ended with 0. */
  async check(script: string, options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(script, options);
    if (code === 0) return stdout;
    throw new Error(`${script.slice(0, 200)}\nended with ${code}: ${stderr.trim().slice(-2_000)}`);
  }

  /** Cuts the power: the emulator is killed. The disk stays as it is in that moment. */
  async kill(): Promise<void> {
    this.#emulator?.kill('SIGKILL');
    await this.#exited;
    this.#emulator = undefined;
  }

  /** Has a script power the machine off, and waits for the emulator to end; cuts the power when the time is over. Whether it was not. */
  async powerOff(script = 'systemctl --no-block poweroff', limitMs = 120_000): Promise<boolean> {
    await this.run(script, { timeoutMs: 30_000 });
    const over = new AbortController();
    const exited = this.#exited.then(() => true);
    const isOver = await Promise.race([exited, sleep(limitMs, false, over)]).catch(() => false);
    over.abort();
    await this.kill();
    return isOver;
  }

  /** The end of what the machine wrote to its console. */
  async readConsole(characters = 4_000): Promise<string> {
    return (await readFile(this.consoleLog, 'utf8').catch(() => '')).slice(-characters);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }

  get #key(): string {
    return path.join(this.folder, 'key');
  }

  async #untilReady(): Promise<void> {
    const giveUpAt = performance.now() + BOOT_LIMIT_MS;
    const { signal } = this.#options;
    for (;;) {
      signal?.throwIfAborted();
      const state = await this.#ssh(['systemctl is-system-running --wait'], {}, 120_000);
      // It also ends with an error when a unit has failed, which is for tests to judge.
      if (/^(?:running|degraded)$/m.test(state.stdout)) return;
      const console = await readFile(this.consoleLog, 'utf8').catch(() => '');
      if (console.includes(PANIC)) throw new KernelPanic(console);
      const hasEnded = this.#emulator?.exitCode !== null;
      if (hasEnded || performance.now() > giveUpAt) {
        const why = hasEnded ? 'the emulator ended' : 'the machine did not get ready in time';
        const emulator = await readFile(path.join(this.folder, 'emulator.log'), 'utf8');
        throw new Error(`${why}: ${state.stderr}\n${emulator}\n${await this.readConsole()}`);
      }
      await sleep(500, undefined, signal === undefined ? {} : { signal });
    }
  }

  /** One connection for all commands between two boots: a handshake takes an emulated machine seconds. */
  async #ssh(command: readonly string[], options: RunOptions, limitMs: number): Promise<CommandEnd> {
    const settings = [
      ...['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR', 'BatchMode=yes'],
      ...['ConnectTimeout=60', 'ServerAliveInterval=30', 'ServerAliveCountMax=10'],
      ...['ControlMaster=auto', 'ControlPersist=yes', `ControlPath=${this.folder}/ssh-${this.#boots}`],
    ].flatMap((setting) => ['-o', setting]);
    const address = ['-i', this.#key, '-p', String(this.#sshPort), 'root@127.0.0.1'];
    const child = spawn('ssh', ['-F', 'none', ...settings, ...address, ...command], {
      ...{ env, stdio: ['pipe', 'pipe', 'pipe'], detached: true },
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        if (output[name].length < MAX_OUTPUT) output[name] += text;
        options.onOutput?.(text);
      });
    }
    // A program that ended without reading is no error.
    child.stdin.on('error', () => undefined).end(options.input ?? '');
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
    }, limitMs);
    const abort = (): void => void child.kill('SIGKILL');
    options.signal?.addEventListener('abort', abort, { once: true });
    try {
      // Not 'close': the shared connection goes on in a process that holds the streams open.
      const code = await new Promise<number>((resolve, reject) => {
        child.once('error', reject);
        child.once('exit', (status) => resolve(status ?? 255));
      });
      await drained(child);
      options.signal?.throwIfAborted();
      return { code, ...output, timedOut };
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', abort);
    }
  }
}

class KernelPanic extends Error {
  readonly isEarly: boolean;

  constructor(console: string) {
    super(`the kernel panicked: ${console.slice(-4_000)}`);
    this.isEarly = isEarlyPanic(console);
  }
}

/** Whether a console ends with a panic of a kernel that has not run `init` yet. */
export function isEarlyPanic(console: string): boolean {
  return console.includes(PANIC) && !/Run \/\S+ as init process/.test(console);
}

/** What the program wrote before it ended is read; nobody waits for writers that it left behind. */
async function drained(child: ChildProcess): Promise<void> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const over = new AbortController();
  await Promise.race([closed, sleep(300, undefined, over).catch(() => undefined)]);
  over.abort();
  child.stdout?.destroy();
  child.stderr?.destroy();
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}

/** For a shell: everything literal. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
