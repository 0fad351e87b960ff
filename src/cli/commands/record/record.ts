import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { getRuntime, HealthReport, Observer } from '#node';
import { findQuantity, toWholeUnits } from '#kube/fields/quantity.js';
import { DEFAULT_MAX_BYTES, type RecordCounts, RecordProxy } from '#proxy/record';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { untilAborted } from '#base/async/until-aborted.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure } from '../../command-failure.js';
import { chooseRuntimeEndpoint } from '../../shared/find-runtime-endpoint.js';
import { createLogger, verbosityOption } from '../../shared/log/log-output.js';
import { packageVersion } from '#base/package-version.js';
import { RUNTIME_ENDPOINT_HELP } from '../../shared/runtime-endpoint.js';
import { wrapNotes } from '../../help-layout.js';

interface RecordFlags {
  readonly listen?: string;
  readonly runtimeEndpoint?: string;
  readonly file: string;
  readonly force: boolean;
  readonly maxSize: number;
  readonly whenFull: 'stop' | 'roll';
  readonly keepAnnotations: readonly string[];
  readonly keepCommands: boolean;
  readonly keepOutput: boolean;
  readonly output: 'text' | 'json';
  readonly verbosity: number;
}

const HELP = `
With --listen the kubelet, crictl or podloop talk to the new socket as they would to the runtime's, and all that they say
is recorded. Without it podloop asks by itself, as "podloop watch" does: it lists and inspects, changes nothing and opens
no event stream. Values of variables, logins, tokens, annotations, commands and output are taken out before anything is
written, unless a flag keeps them. Ctrl-C ends it; SIGUSR1 prints what was recorded so far.

Examples:
  # What a kubelet and containerd say to one another, the newest half a gigabyte of it
  podloop record --listen unix:///run/podloop-record/cri.sock --runtime-endpoint unix:///run/containerd/containerd.sock \\
    -f node.plrec --max-size 512Mi --when-full roll

  # What podloop itself sees of the runtime that is found on this machine
  podloop record -f node.plrec`;

/** Between two lines of progress, in milliseconds. */
const PROGRESS_MS = 1_000;
/** How often the health is checked for changes to log, when podloop calls the runtime itself. */
const HEALTH_LOOK_MS = 500;

/** `podloop record`: what a runtime is asked, and what it answers, into a file. */
export function recordCommand(host: CliHost): Command {
  return new Command('record')
    .description(
      'Record the calls of a container runtime and their answers, without secrets, to analyze them elsewhere.',
    )
    .option('--listen <endpoint>', 'unix:///path to listen at for others; without it podloop asks by itself')
    .option('--runtime-endpoint <endpoint>', RUNTIME_ENDPOINT_HELP)
    .requiredOption('-f, --file <file>', 'File to write; only its owner may read it')
    .option('--force', 'Replace an existing file', false)
    .addOption(
      new Option('--max-size <size>', 'Maximum size of the recording on disk')
        .argParser(parseSize)
        .default(DEFAULT_MAX_BYTES, '256Mi'),
    )
    .addOption(
      new Option('--when-full <what>', 'stop: recording ends; roll: the older half goes, again and again')
        .choices(['stop', 'roll'])
        .default('stop'),
    )
    .option(
      '--keep-annotations <name>',
      'Keep the values of annotations of that name, * for anything; may be given several times',
      (name: string, names: readonly string[]) => [...names, name],
      [],
    )
    .option('--keep-commands', 'Keep commands and arguments of containers and execs', false)
    .option('--keep-output', 'Keep what execs print and what containers leave as their last message', false)
    .addOption(
      new Option('-o, --output <format>', 'Output format of the counts at the end')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addOption(verbosityOption('2 logs what podloop itself does, 4 is for debugging'))
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: RecordFlags) => record(flags, host));
}

async function record(flags: RecordFlags, host: CliHost): Promise<void> {
  const logger = createLogger(host, flags.verbosity);
  const signal = AbortSignal.any([host.listenForInterrupts(), host.stdout.ended]);
  const upstream = await getRuntime(await chooseRuntimeEndpoint(flags.runtimeEndpoint, host, signal));
  if (flags.listen === undefined) await assertAnswers(upstream, host, signal);
  const folder = flags.listen === undefined ? await mkdtemp(join(tmpdir(), 'podloop-record-')) : undefined;
  let failure: string | undefined;
  try {
    const { file, force: replace, maxSize: maxBytes, whenFull } = flags;
    const { keepAnnotations, keepCommands, keepOutput } = flags;
    await using proxy = await RecordProxy.start({
      ...{
        upstream,
        file,
        replace,
        maxBytes,
        whenFull,
        version: packageVersion(),
        clock: host.clock,
        logger,
      },
      listen: flags.listen ?? `unix://${join(folder!, 'cri.sock')}`,
      mode: folder === undefined ? 'relay' : 'observe',
      rules: { keepAnnotations, keepCommands, keepOutput },
      onEnded: (reason, message) => {
        if (reason === 'failed') failure = message;
        logger.warn('Recording has ended, calls go on', { file, why: message });
      },
    });
    const listens = folder === undefined ? { endpoint: proxy.endpoint } : {};
    logger.info('Recording', {
      ...{ file, upstream, mode: folder === undefined ? 'relay' : 'observe' },
      ...listens,
    });
    const stopListening = host.onUserSignal(() => void printCounts(proxy.counts, flags, host));
    const progress = showProgress(proxy, host, signal);
    if (folder === undefined) await untilAborted(signal);
    else await observe(proxy.endpoint, { logger, verbosity: flags.verbosity, host, signal });
    stopListening();
    await progress;
    await proxy.close();
    await printCounts(proxy.counts, flags, host);
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
  if (failure !== undefined)
    throw new CommandFailure([`error: the recording ${flags.file} is not complete: ${failure}`]);
  if (host.stdout.failure !== undefined) throw host.stdout.failure;
}

/** Rejects, as `podloop watch` does, where nothing answers: a recording of that would be empty. */
async function assertAnswers(upstream: string, { clock }: CliHost, signal: AbortSignal): Promise<void> {
  const ports = { clock, logger: SILENT_LOGGER };
  await using _ = await Observer.connect({ runtimeEndpoint: upstream, mode: 'generic' }, ports, signal);
}

/** Looks at all pods, as `podloop watch` does, through the recorder. */
async function observe(
  endpoint: string,
  {
    logger,
    verbosity,
    host,
    signal,
  }: { logger: Logger; verbosity: number; host: CliHost; signal: AbortSignal },
): Promise<void> {
  let runtimeIsThere = true;
  try {
    await using observer = await Observer.connect(
      { runtimeEndpoint: endpoint, mode: 'generic' },
      {
        clock: host.clock,
        logger: verbosity > 0 ? logger : SILENT_LOGGER,
        onRuntimeLost: (message) => {
          runtimeIsThere = false;
          logger.warn('Runtime is gone, waiting for it to come back', { err: message });
        },
        onRuntimeBack: () => {
          runtimeIsThere = true;
          logger.info('Runtime is back');
        },
      },
      signal,
    );
    const report = new HealthReport(logger);
    const looking = observer.run(signal);
    while (!signal.aborted) {
      report.update(observer.health(), runtimeIsThere);
      await host.clock.sleep(HEALTH_LOOK_MS, signal).catch(() => undefined);
    }
    await looking;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** One line on a terminal, written over each second. */
async function showProgress(proxy: RecordProxy, host: CliHost, signal: AbortSignal): Promise<void> {
  if (!host.stderr.isTerminal) return;
  const beganMs = host.clock.monotonicMs();
  while (!signal.aborted) {
    const { calls, open, bytes, lost } = proxy.counts;
    const time = formatGoDuration(Math.round((host.clock.monotonicMs() - beganMs) / 1000) * 1000);
    const missing = lost > 0 ? `, ${lost} lost` : '';
    await host.stderr.write(`\r\x1b[K${time}: ${calls} calls, ${open} open, ${formatBytes(bytes)}${missing}`);
    await host.clock.sleep(PROGRESS_MS, signal).catch(() => undefined);
  }
  await host.stderr.write('\r\x1b[K');
}

async function printCounts(
  counts: RecordCounts,
  { file, output }: Pick<RecordFlags, 'file' | 'output'>,
  { stdout }: CliHost,
): Promise<void> {
  if (output === 'json') {
    await stdout.writeLine(JSON.stringify({ file, ...counts }));
    return;
  }
  const { calls, open, messages, bytes, files, redacted, unknownFields, unreadable, lost, ended } = counts;
  const parts = [
    `${calls} calls (${open} open)`,
    `${messages} messages`,
    `${redacted} values taken out`,
    ...(unknownFields > 0 ? [`${unknownFields} unknown fields left out`] : []),
    ...(unreadable > 0 ? [`${unreadable} messages unreadable`] : []),
    ...(lost > 0 ? [`${lost} lost`] : []),
    ...(ended === undefined ? [] : [ended === 'full' ? 'ended when it was full' : 'ended by a failure']),
  ];
  const where = files > 1 ? `${file} and ${file}.1` : file;
  await stdout.writeLine(`${where}: ${parts.join(', ')}, ${formatBytes(bytes)}`);
}

function formatBytes(bytes: number): string {
  if (bytes < 2 ** 20) return `${(bytes / 2 ** 10).toFixed(1)} KiB`;
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

function parseSize(text: string): number {
  const quantity = findQuantity(text);
  const bytes = quantity === undefined ? 0 : Number(toWholeUnits(quantity));
  if (bytes >= 2 ** 20 && Number.isSafeInteger(bytes)) return bytes;
  throw new InvalidArgumentError('use a size of at least 1Mi, such as 256Mi or 2Gi');
}
