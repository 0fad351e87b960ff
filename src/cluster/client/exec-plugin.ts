import { spawn } from 'node:child_process';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { kubeExecEnded } from '#base/channels/kube-client-channels.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type ExecCommand } from './kubeconfig.js';
import { killGroup } from '#base/proc/kill-group.js';

/** What a program handed out. */
export interface ExecCredential {
  readonly token?: string;
  readonly certificate?: string;
  readonly key?: string;
}

/** What an {@link ExecPlugin} needs. */
export interface ExecPluginOptions extends Publisher {
  readonly command: ExecCommand;
  /** The kubeconfig, for messages. */
  readonly file: string;
  /** The cluster's data for the program, where it asks for that. */
  readonly cluster: Readonly<Record<string, unknown>>;
  /** Of the agent. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Pick<Clock, 'now' | 'setTimer'>;
}

/** client-go waits for ever; an agent has nobody at a keyboard who would notice. */
const MAX_RUN_MS = 60_000;
/** Credentials that end this soon are renewed: the request that carries them takes a while. */
const EARLY_MS = 10_000;

/**
 * A program that hands out credentials, run when there are none or they have ended, once however many ask.
 *
 * Source: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
export class ExecPlugin {
  readonly #options: ExecPluginOptions;
  #kept: { readonly credential: ExecCredential; readonly expiresAtMs: number | undefined } | undefined;
  #running: Promise<ExecCredential> | undefined;

  constructor(options: ExecPluginOptions) {
    this.#options = options;
  }

  /** Credentials that hold now. Rejects with KUBECONFIG_INVALID saying what the program said. */
  async get(): Promise<ExecCredential> {
    const { credential, expiresAtMs = Infinity } = this.#kept ?? {};
    if (credential !== undefined && this.#options.clock.now() < expiresAtMs - EARLY_MS) return credential;
    this.#running ??= this.#renew().finally(() => (this.#running = undefined));
    return await this.#running;
  }

  /** Forgets what the server refused. */
  forget(): void {
    this.#kept = undefined;
  }

  async #renew(): Promise<ExecCredential> {
    const { apiVersion, provideClusterInfo } = this.#options.command;
    const spec = { interactive: false, ...(provideClusterInfo && { cluster: this.#options.cluster }) };
    const { stdout, exitCode } = await this.#run(
      JSON.stringify({ apiVersion, kind: 'ExecCredential', spec }),
    );
    const { credential, expiresAtMs } = this.#read(stdout);
    publishTo(this.#options.channels, kubeExecEnded, { exitCode, expiresAtMs });
    this.#kept = { credential, expiresAtMs };
    return credential;
  }

  async #run(info: string): Promise<{ stdout: string; exitCode: number }> {
    const { command, environment, clock } = this.#options;
    const env = { ...environment, ...command.env, KUBERNETES_EXEC_INFO: info };
    const fail = (why: string, exitCode?: number): PodloopError => {
      publishTo(this.#options.channels, kubeExecEnded, { exitCode, expiresAtMs: undefined });
      return this.#failure(why);
    };
    let end: GroupEnd;
    try {
      const { command: file, args } = command;
      end = await runInGroup({ command: file, args, env, limitMs: MAX_RUN_MS, clock });
    } catch (error) {
      const { installHint } = command;
      const isMissing = systemCodeOf(error) === 'ENOENT';
      throw fail(isMissing && installHint !== '' ? `is not there: ${installHint.trim()}` : messageOf(error));
    }
    const { stdout, stderr, code } = end;
    if (code === 0) return { stdout, exitCode: 0 };
    const last = stderr.trim().split('\n').slice(-3).join(' ').slice(0, 500);
    const how = describeEnd(end);
    throw fail(last === '' ? how : `${how}: ${last}`, code ?? undefined);
  }

  /** Nothing of the output is repeated in an error: it holds secrets. */
  #read(text: string): { credential: ExecCredential; expiresAtMs: number | undefined } {
    let answer: unknown;
    try {
      answer = JSON.parse(text);
    } catch {
      throw this.#failure('has written something that is no JSON');
    }
    const { kind, apiVersion, status } = toFields(answer);
    if (kind !== 'ExecCredential' || apiVersion !== this.#options.command.apiVersion) {
      const wanted = `an ExecCredential of ${this.#options.command.apiVersion}`;
      throw this.#failure(`has written something else than ${wanted}`);
    }
    const { token, clientCertificateData, clientKeyData, expirationTimestamp } = toFields(status);
    const credential: ExecCredential = {
      ...(isText(token) && { token }),
      ...(isText(clientCertificateData) && { certificate: clientCertificateData }),
      ...(isText(clientKeyData) && { key: clientKeyData }),
    };
    if ((credential.certificate === undefined) !== (credential.key === undefined)) {
      throw this.#failure('has handed out a certificate without its key, or a key without its certificate');
    }
    if (credential.token === undefined && credential.certificate === undefined) {
      throw this.#failure('has handed out neither a token nor a certificate');
    }
    const expiresAtMs = isText(expirationTimestamp) ? Date.parse(expirationTimestamp) : Number.NaN;
    return { credential, expiresAtMs: Number.isNaN(expiresAtMs) ? undefined : expiresAtMs };
  }

  #failure(why: string): PodloopError {
    const { file, command } = this.#options;
    return new PodloopError('KUBECONFIG_INVALID', `${file}: the program ${command.command} ${why}`);
  }
}

function describeEnd({ code, signal, isLate }: GroupEnd): string {
  if (isLate) return `has not ended within ${formatGoDuration(MAX_RUN_MS)}`;
  return code === null ? `was ended by ${signal ?? 'a signal'}` : `ended with ${code}`;
}

function toFields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** What {@link runInGroup} needs. */
interface RunInGroupOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Then it is ended, and what it has started. */
  readonly limitMs: number;
  readonly clock: Pick<Clock, 'setTimer'>;
}

/** What became of a program. */
interface GroupEnd {
  readonly stdout: string;
  readonly stderr: string;
  /** Null when it was ended, by a signal or for its limit. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly isLate: boolean;
}

const LARGEST_OUTPUT_BYTES = 1024 * 1024;
/** So long after its end others may still write where it wrote: what it has started, and left behind. */
const LINGER_MS = 1_000;

/**
 * Runs a program that is asked for what it writes. Rejects with what kept it from being started.
 *
 * It leads a group of its own, and nobody waits for others that hold its output once it has ended or its time is over: they are
 * killed then. Those that let go of its output, as what is to go on beside it does, are left alone.
 */
async function runInGroup(options: RunInGroupOptions): Promise<GroupEnd> {
  const { command, args, env, limitMs, clock } = options;
  const child = spawn(command, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  return await new Promise((resolve, reject) => {
    child.on('error', reject);
    // The error is on its way; where no more files may be opened there are not even pipes.
    if (child.pid === undefined) return;
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        if (output[name].length < LARGEST_OUTPUT_BYTES) output[name] += text;
      });
    }
    let isSettled = false;
    const settle = (end: Omit<GroupEnd, 'stdout' | 'stderr'>): void => {
      isSettled = true;
      timer.cancel();
      resolve({ ...output, ...end });
    };
    const cutOff = (end: Omit<GroupEnd, 'stdout' | 'stderr'>): void => {
      if (isSettled) return;
      settle(end);
      for (const pipe of [child.stdout, child.stderr]) pipe.destroy();
      killGroup(child);
      // One that hangs in the kernel cannot be killed.
      child.unref();
    };
    const late = { code: null, signal: null, isLate: true };
    let timer: ClockTimer = clock.setTimer(limitMs, () => cutOff(late), { unref: true });
    child.once('exit', (code, signal) => {
      timer.cancel();
      if (isSettled) return;
      // After a stall of ours what was written before is read first.
      const end = (): unknown => setImmediate(() => cutOff({ code, signal, isLate: false }));
      timer = clock.setTimer(LINGER_MS, end, { unref: true });
    });
    child.once('close', (code, signal) => settle({ code, signal, isLate: false }));
  });
}
