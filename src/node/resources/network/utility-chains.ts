/**
 * The kubelet's chains of iptables, for other programs that rely on them: `KUBE-IPTABLES-HINT`, from which they see whether the machine uses
 * nftables or the legacy tables, and `KUBE-FIREWALL`, which drops packets to loopback addresses that do not come from this machine.
 *
 * In: the machine's programs `iptables` and `ip6tables`, in whichever variant the machine has chosen. Out: chains and rules, which are
 * made again when somebody has flushed the tables: a canary in each table shows that. They stay when the agent ends, as a kubelet's do.
 *
 * Source: https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/ (makeIPTablesUtilChains),
 * https://github.com/kubernetes/enhancements/tree/master/keps/sig-network/3178-iptables-cleanup
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { messageOf } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type Logger } from '#base/log/logger.js';
import { type Clock } from '#base/time/clock.js';

/** How a program ended. */
export interface ToolResult {
  readonly exitCode: number;
  /** What it said about its failure. */
  readonly message: string;
}

/** What {@link UtilityChains} needs. */
export interface UtilityChainsOptions {
  /** Runs `iptables` or `ip6tables`. Rejects when it cannot be run. */
  readonly run: (
    program: IptablesProgram,
    args: readonly string[],
    signal: AbortSignal,
  ) => Promise<ToolResult>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly logger: Logger;
}

/** One for each family of addresses. */
export type IptablesProgram = 'iptables' | 'ip6tables';

/** As often as a kubelet. */
const PERIOD_MS = 60_000;
const TABLES = ['mangle', 'nat', 'filter'] as const;
const CANARY = 'KUBE-KUBELET-CANARY';
const HINT = 'KUBE-IPTABLES-HINT';
const FIREWALL = 'KUBE-FIREWALL';
/** Connections to the node's own addresses that are sent on to a pod must not reach what listens on loopback alone. */
const DROP_FOREIGN = [
  ...['-m', 'comment', '--comment', 'block incoming localnet connections'],
  ...['-d', '127.0.0.0/8', '!', '-s', '127.0.0.0/8'],
  ...['-m', 'conntrack', '!', '--ctstate', 'RELATED,ESTABLISHED,DNAT', '-j', 'DROP'],
];
const TOOL_PATH = '/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/sbin';
/** Each takes milliseconds, and waits for the lock of the tables at most. */
const DEADLINE_MS = 20_000;
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
/** Another program may have the lock of the tables for so many seconds. */
const LOCK_SECONDS = '5';

/** See the module. */
export class UtilityChains {
  readonly #options: UtilityChainsOptions;
  /** Families whose chains this agent has made, or found. */
  readonly #made = new Set<IptablesProgram>();
  /** The last problem of each family: the same one is logged once. */
  readonly #logged = new Map<IptablesProgram, string>();

  constructor(options: UtilityChainsOptions) {
    this.#options = options;
  }

  /** Makes the chains, and again each time they are gone, until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const program of ['iptables', 'ip6tables'] as const) await this.#tend(program, signal);
      await this.#options.clock.sleep(PERIOD_MS, signal).catch(() => undefined);
    }
  }

  async #tend(program: IptablesProgram, signal: AbortSignal): Promise<void> {
    const { logger } = this.#options;
    try {
      const tables = new Tables(program, this.#options.run, signal);
      if (this.#made.has(program) && (await hasCanaries(tables))) return;
      this.#made.delete(program);
      await makeChains(program, tables);
      this.#made.add(program);
      this.#logged.delete(program);
      logger.info('Initialized iptables rules', { program });
    } catch (error) {
      if (signal.aborted) return;
      const err = messageOf(error);
      if (this.#logged.get(program) !== err)
        logger.warn('Chains of iptables cannot be made', { program, err });
      this.#logged.set(program, err);
    }
  }
}

async function hasCanaries(tables: Tables): Promise<boolean> {
  for (const table of TABLES) if (!(await tables.has(table, CANARY))) return false;
  return true;
}

/** Leaves alone what is there. Canaries come last: while one is missing, everything is checked again. */
async function makeChains(program: IptablesProgram, tables: Tables): Promise<void> {
  await tables.ensureChain('mangle', HINT);
  if (program === 'iptables') {
    await tables.ensureChain('filter', FIREWALL);
    await tables.ensureRule('-A', FIREWALL, DROP_FOREIGN);
    await tables.ensureRule('-I', 'OUTPUT', ['-j', FIREWALL]);
    await tables.ensureRule('-I', 'INPUT', ['-j', FIREWALL]);
  }
  for (const table of TABLES) await tables.ensureChain(table, CANARY);
}

/** The tables of one family. Each call rejects with what the program says when the tables cannot be changed. */
class Tables {
  readonly #program: IptablesProgram;
  readonly #run: UtilityChainsOptions['run'];
  readonly #signal: AbortSignal;

  constructor(program: IptablesProgram, run: UtilityChainsOptions['run'], signal: AbortSignal) {
    this.#program = program;
    this.#run = run;
    this.#signal = signal;
  }

  async has(table: (typeof TABLES)[number], chain: string): Promise<boolean> {
    return await this.#succeeds(table, '-S', chain, '1');
  }

  async ensureChain(table: (typeof TABLES)[number], chain: string): Promise<void> {
    if (await this.has(table, chain)) return;
    try {
      await this.#change(table, '-N', chain);
    } catch (error) {
      // Another program may have made it in between.
      if (!(await this.has(table, chain))) throw error;
    }
  }

  async ensureRule(how: '-A' | '-I', chain: string, rule: readonly string[]): Promise<void> {
    if (!(await this.#succeeds('filter', '-C', chain, ...rule)))
      await this.#change('filter', how, chain, ...rule);
  }

  /** False where the program says that it is not there (1); another code says nothing about that. */
  async #succeeds(table: string, ...args: readonly string[]): Promise<boolean> {
    const words = ['-w', LOCK_SECONDS, '-t', table, ...args];
    const { exitCode, message } = await this.#run(this.#program, words, this.#signal);
    if (exitCode > 1) throw new Error(`${this.#program} ${words.join(' ')}: ${message}`);
    return exitCode === 0;
  }

  async #change(table: string, ...args: readonly string[]): Promise<void> {
    const words = ['-w', LOCK_SECONDS, '-t', table, ...args];
    const { exitCode, message } = await this.#run(this.#program, words, this.#signal);
    if (exitCode !== 0) throw new Error(`${this.#program} ${words.join(' ')}: ${message}`);
  }
}

/** Runs the machine's program. Rejects when there is none, or when it is ended by the signal. */
export async function runIptables(
  program: IptablesProgram,
  args: readonly string[],
  signal: AbortSignal,
): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    const options = {
      ...{ cwd: '/', env: { PATH: TOOL_PATH, LC_ALL: 'C' }, timeout: DEADLINE_MS, signal },
      ...{ killSignal: 'SIGKILL' as const, maxBuffer: MAX_OUTPUT_BYTES },
    };
    execFile(program, args, options, (error, _stdout, stderr) => {
      if (error === null) resolve({ exitCode: 0, message: '' });
      else if (systemCodeOf(error) === 'ENOENT') {
        const remedy = 'install the package iptables, or set makeIPTablesUtilChains to false';
        reject(new Error(`there is no program ${program} in ${TOOL_PATH}: ${remedy}`));
      } else if (typeof error.code === 'number') {
        const message = (stderr.trim() || messageOf(error)).slice(0, 1_000).replaceAll(/\s*\n\s*/g, '; ');
        resolve({ exitCode: error.code, message });
      } else reject(new Error(messageOf(error), { cause: error }));
    });
  });
}
