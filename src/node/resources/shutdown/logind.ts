/**
 * What systemd-logind is asked for so that the machine waits for its pods when it shuts down.
 *
 * It goes through systemd's own programs: a lock of logind is an open descriptor that D-Bus hands over, which Node cannot receive, so
 * `systemd-inhibit` holds it; `busctl` reads properties and follows the signal PrepareForShutdown.
 *
 * Source: https://systemd.io/INHIBITOR_LOCKS/, org.freedesktop.login1(5), logind.conf(5)
 *
 * @module
 */
import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { type Readable, type Writable } from 'node:stream';
import { promisify } from 'node:util';
import { messageOf } from '#base/errors/errors.js';
import { isRecord } from '#base/text/is-record.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** Delays the shutdown of the machine until it is released, or for as long as logind allows. */
export interface ShutdownLock {
  /** Idempotent. */
  release(): void;
  /** Resolves when the lock is gone, with the reason if it was not released here. */
  readonly gone: Promise<string | undefined>;
}

/** What {@link Logind} does, for tests with another. */
export type LogindPort = Pick<Logind, 'delayMs' | 'raiseDelay' | 'isPreparing' | 'lock' | 'watch'>;

/** Options of {@link Logind}; tests have other programs and another file. */
export interface LogindOptions {
  readonly busctl?: string;
  readonly systemdInhibit?: string;
  /** The drop-in with the longest delay (default: the kubelet's, so that there is one and not two). */
  readonly dropIn?: string;
}

const run = promisify(execFile);
const TIMEOUT_MS = 10_000;
const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
const KUBELETS_DROP_IN = '/etc/systemd/logind.conf.d/99-kubelet.conf';
const LOGIND = [
  'org.freedesktop.login1',
  '/org/freedesktop/login1',
  'org.freedesktop.login1.Manager',
] as const;
const SYSTEMD = [
  'org.freedesktop.systemd1',
  '/org/freedesktop/systemd1',
  'org.freedesktop.systemd1.Manager',
] as const;
/** Only logind itself: any user may send signals with these names. */
const MATCH = `type='signal',sender='${LOGIND[0]}',path='${LOGIND[1]}',interface='${LOGIND[2]}',member='PrepareForShutdown'`;
/** Longer than any message of the signal. */
const MAX_LINE = 16 * 1024;
const MAX_WORDS = 2_000;

/** The logind of this machine. Rejections say which program failed, and its last words. */
export class Logind {
  readonly #busctl: string;
  readonly #inhibit: string;
  readonly #dropIn: string;

  constructor({ busctl, systemdInhibit, dropIn }: LogindOptions = {}) {
    this.#busctl = busctl ?? 'busctl';
    this.#inhibit = systemdInhibit ?? 'systemd-inhibit';
    this.#dropIn = dropIn ?? KUBELETS_DROP_IN;
  }

  /** The longest time for which locks delay a shutdown, in milliseconds. */
  async delayMs(signal: AbortSignal): Promise<number> {
    const value = await this.#property('InhibitDelayMaxUSec', signal);
    if (typeof value !== 'number') throw new Error('busctl: InhibitDelayMaxUSec is not a number');
    return value / 1_000;
  }

  /** Writes the drop-in with that delay, and has logind read it, which takes logind a moment. */
  async raiseDelay(seconds: number, signal: AbortSignal): Promise<void> {
    const text = `# Written by podloop: the sum of its shutdown grace periods.\n[Login]\nInhibitDelayMaxSec=${seconds}\n`;
    await makeFolder(dirname(this.#dropIn));
    await writeFile(this.#dropIn, text);
    await this.#call(['call', ...SYSTEMD, 'KillUnit', 'ssi', 'systemd-logind.service', 'all', '1'], signal);
  }

  /** Whether the machine is shutting down at this moment. */
  async isPreparing(signal: AbortSignal): Promise<boolean> {
    return (await this.#property('PreparingForShutdown', signal)) === true;
  }

  /** Takes a lock. It is gone, too, when this process ends. The signal gives up what is not locked yet. */
  async lock(signal: AbortSignal): Promise<ShutdownLock> {
    signal.throwIfAborted();
    const why = 'Pods need time to end';
    const flags = ['--what=shutdown', '--mode=delay', '--who=podloop', `--why=${why}`];
    // The command runs once the lock is there, and ends with its input.
    const child = spawn(this.#inhibit, [...flags, 'sh', '-c', 'echo locked; exec cat >/dev/null'], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: ENVIRONMENT,
    });
    const released = new AbortController();
    const gone = endOf(child, 'systemd-inhibit').then((reason) =>
      released.signal.aborted ? undefined : reason,
    );
    const release = (): void => {
      released.abort();
      child.stdin.end();
    };
    // It may have ended.
    child.stdin.on('error', () => undefined);
    signal.addEventListener('abort', release, { once: true });
    const locked = new Promise<void>((resolve) => child.stdout.once('data', () => resolve()));
    const early = await Promise.race([locked, gone.then((reason) => reason ?? 'systemd-inhibit: ended')]);
    signal.removeEventListener('abort', release);
    signal.throwIfAborted();
    if (early !== undefined) throw new Error(early);
    return { release, gone };
  }

  /**
   * Calls `onSignal` with true when the machine begins to shut down, and with false when that was cancelled.
   *
   * Resolves when the signal aborts; rejects when nothing is heard any more.
   */
  async watch(onSignal: (isShuttingDown: boolean) => void, signal: AbortSignal): Promise<void> {
    const args = ['--system', '--json=short', `--match=${MATCH}`, 'monitor'];
    const child = spawn(this.#busctl, args, {
      ...{ stdio: ['ignore', 'pipe', 'pipe'], env: ENVIRONMENT, signal },
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      const value = line.length > MAX_LINE ? undefined : readSignal(line);
      if (value !== undefined) onSignal(value);
    });
    const reason = await endOf(child, 'busctl monitor');
    if (!signal.aborted) throw new Error(reason);
  }

  async #property(name: string, signal: AbortSignal): Promise<unknown> {
    const text = await this.#call(['--json=short', 'get-property', ...LOGIND, name], signal);
    // Asked to end when its time is over, it ends with 0 and has printed nothing.
    if (text.trim() === '') throw new Error(`busctl: no answer about ${name} within ${TIMEOUT_MS / 1_000} s`);
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value['data'] : undefined;
  }

  async #call(words: readonly string[], signal: AbortSignal): Promise<string> {
    const options = { timeout: TIMEOUT_MS, signal, env: ENVIRONMENT };
    try {
      return (await run(this.#busctl, ['--system', ...words], options)).stdout;
    } catch (error) {
      signal.throwIfAborted();
      throw new Error(`busctl: ${lastLineOf(messageOf(error))}`, { cause: error });
    }
  }
}

type Program = ChildProcessByStdio<Writable | null, Readable, Readable>;

/** How a program ended, with its last words. */
async function endOf(child: Program, name: string): Promise<string> {
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-MAX_WORDS);
  });
  return await new Promise((resolve) => {
    child.once('error', (error) => resolve(`${name}: ${messageOf(error)}`));
    child.once('close', (code, signal) => {
      const how = code === null ? `ended by ${signal}` : `ended with ${code}`;
      const last = lastLineOf(words);
      resolve(last === '' ? `${name}: ${how}` : `${name}: ${how}: ${last}`);
    });
  });
}

function lastLineOf(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}

/** Undefined for anything else than the signal. */
function readSignal(line: string): boolean | undefined {
  try {
    const message: unknown = JSON.parse(line);
    if (!isRecord(message) || message['member'] !== 'PrepareForShutdown') return undefined;
    const payload = message['payload'];
    const data = isRecord(payload) ? payload['data'] : undefined;
    const first: unknown = Array.isArray(data) ? data[0] : undefined;
    return typeof first === 'boolean' ? first : undefined;
  } catch {
    return undefined;
  }
}
