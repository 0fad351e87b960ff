import { randomInt } from 'node:crypto';
import { Command, InvalidArgumentError, Option } from 'commander';
import {
  ChaosProxy,
  type Injection,
  type InjectionCount,
  parseRules,
  readRules,
  watchRules,
} from '#proxy/chaos';
import { findRuntimeFault } from '#node';
import { type Logger } from '#base/log/logger.js';
import { type CliHost } from '../../cli-host.js';
import { createLogger, verbosityOption } from '../../shared/log/log-output.js';
import { wrapNotes } from '../../help-layout.js';

interface ChaosFlags {
  readonly upstream: string;
  readonly listen: string;
  readonly rules: string;
  readonly seed?: number;
  readonly output: 'text' | 'json';
  readonly verbosity: number;
}

const HELP = `
The kubelet, crictl or podloop talk to the new socket as they would to the runtime's. The rules are read again when
the file changes. What was injected is printed at the end, and at SIGUSR1. Ctrl-C ends it.

Examples:
  # A container that never answers, in front of containerd
  podloop chaos --upstream unix:///run/containerd/containerd.sock --listen unix:///run/chaos.sock \\
    --rules examples/chaos/one-hung-container.yaml

  # What podloop makes of it
  podloop watch --runtime-endpoint unix:///run/chaos.sock

  # Every fault as a line of JSON
  podloop chaos --upstream unix:///run/containerd/containerd.sock --listen unix:///run/chaos.sock \\
    --rules rules.yaml -o json`;

const MAX_SEEDS = 2 ** 32;
/** A runtime that is well answers at once. */
const UPSTREAM_ANSWER_MS = 3_000;

/** `podloop chaos`: a runtime that misbehaves on purpose. */
export function chaosCommand(host: CliHost): Command {
  return new Command('chaos')
    .description('Stand between a CRI client and its runtime, and inject the faults that a rules file says.')
    .requiredOption('--upstream <endpoint>', 'unix:///path of the runtime’s socket')
    .requiredOption('--listen <endpoint>', 'unix:///path to listen at; only its owner may open it')
    .requiredOption('--rules <file>', 'YAML file of rules; read again when it changes')
    .option(
      '--seed <number>',
      'Seed with which the same calls get the same faults (default: random)',
      parseSeed,
    )
    .addOption(
      new Option('-o, --output <format>', 'text: counts at the end; json: one object for each fault, too')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addOption(verbosityOption('1 logs every injected fault, 4 is for debugging'))
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: ChaosFlags) => serve(flags, host));
}

async function serve(flags: ChaosFlags, host: CliHost): Promise<void> {
  const logger = createLogger(host, flags.verbosity);
  const signal = AbortSignal.any([host.listenForInterrupts(), host.stdout.ended]);
  const text = await readRules(flags.rules);
  const rules = parseRules(text, flags.rules);
  const seed = flags.seed ?? randomInt(MAX_SEEDS);
  await using proxy = await ChaosProxy.start({
    ...{ upstream: flags.upstream, listen: flags.listen, rules, seed, clock: host.clock, logger },
    ...(flags.output === 'json'
      ? { onInjection: (injection) => void host.stdout.writeLine(formatInjection(injection)) }
      : {}),
  });
  logger.info('Listening', {
    ...{ endpoint: proxy.endpoint, upstream: flags.upstream, rules: rules.length, seed },
  });
  const looking = warnOfMissingUpstream(flags.upstream, { logger, host, signal });
  const print = (): Promise<void> => printCounts(proxy.injected, flags.output, host);
  const stopListening = host.onUserSignal(() => void print());
  const onRules = proxy.replaceRules.bind(proxy);
  await watchRules({ ...{ file: flags.rules, text, clock: host.clock, logger, onRules } }, signal);
  stopListening();
  await looking;
  await print();
  if (host.stdout.failure !== undefined) throw host.stdout.failure;
}

/** The runtime may come later, so that this ends nothing. Never rejects. */
async function warnOfMissingUpstream(
  upstream: string,
  { logger, host: { clock }, signal }: { logger: Logger; host: CliHost; signal: AbortSignal },
): Promise<void> {
  const options = { signal, clock, timeoutMs: UPSTREAM_ANSWER_MS };
  const err = await findRuntimeFault(upstream, options).catch(() => undefined);
  if (err === undefined) return;
  logger.warn('The runtime behind --upstream does not answer; calls fail until it does', { upstream, err });
}

function formatInjection({ atMs, container, ...injection }: Injection): string {
  return JSON.stringify({ time: new Date(atMs).toISOString(), ...injection, container });
}

async function printCounts(
  counts: readonly InjectionCount[],
  output: ChaosFlags['output'],
  { stdout }: CliHost,
): Promise<void> {
  if (output === 'json') {
    await stdout.writeLine(JSON.stringify({ injected: counts }));
    return;
  }
  const rows = [
    ['RULE', 'FAULT', 'METHOD', 'INJECTED'],
    ...counts.map(({ rule, fault, method, count }) => [
      rule,
      fault,
      method === '' ? '-' : method,
      String(count),
    ]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const row of rows) {
    await stdout.writeLine(row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('   '));
  }
}

function parseSeed(text: string): number {
  const seed = Number(text);
  if (/^\d+$/.test(text) && seed < MAX_SEEDS) return seed;
  throw new InvalidArgumentError(`use a whole number from 0 to ${MAX_SEEDS - 1}`);
}
