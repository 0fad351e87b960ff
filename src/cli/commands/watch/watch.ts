import { Command, Option } from 'commander';
import { hostname } from 'node:os';
import { HealthReport, Observer, OBSERVER_OPTIONS, type ObserverMode, type PodLifecycleEvent } from '#node';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { type CliHost } from '../../cli-host.js';
import { describeNoMatch, type EventFilter, matchesFilter } from '../../shared/events/event-filter.js';
import { createEventPrinter, OUTPUT_FORMATS, type OutputFormat } from '../../shared/events/event-printer.js';
import { chooseRuntimeEndpoint } from '../../shared/find-runtime-endpoint.js';
import { parsePositiveDuration } from '../../shared/flag-values.js';
import { createLogger, verbosityOption } from '../../shared/log/log-output.js';
import { kubeletsEndpointOption, RUNTIME_ENDPOINT_HELP } from '../../shared/runtime-endpoint.js';
import { wrapNotes } from '../../help-layout.js';
import { type WatchScreen } from './watch-screen.js';

interface WatchFlags {
  readonly runtimeEndpoint?: string;
  readonly containerRuntimeEndpoint?: string;
  readonly mode: ObserverMode;
  readonly relistPeriod: number;
  readonly namespace?: string;
  readonly pod?: string;
  readonly output?: OutputFormat;
  readonly verbosity: number;
}

const HELP = `
On a terminal one screen shows the pods and what happens to them. Else, or with -o, events go to standard output, and everything
else to standard error. It only reads; Ctrl-C ends it.

Keys of the screen: arrows or j k select a pod, Enter shows its details; / searches, t groups, ? lists all keys, q ends it.

Examples:
  # Every change of every pod, from the runtime that is found on this machine
  podloop watch

  # One namespace of one runtime
  podloop watch --runtime-endpoint unix:///run/containerd/containerd.sock --namespace kube-system

  # Which containers failed, with their exit codes
  podloop watch -o json | jq -r 'select(.exitCode > 0) | [.pod.name, .container, .exitCode, .reason] | @tsv'

  # The embedded runtime, started by "podloop runtime"
  podloop watch --runtime-endpoint embedded`;

/** How often the health is checked for changes to log, in milliseconds. */
const HEALTH_LOOK_MS = 500;

/** `podloop watch`: the live events of a runtime. */
export function watchCommand(host: CliHost): Command {
  return new Command('watch')
    .description('Show what happens to every pod of a container runtime, as it happens; changes nothing.')
    .option('--runtime-endpoint <endpoint>', RUNTIME_ENDPOINT_HELP)
    .addOption(kubeletsEndpointOption())
    .addOption(
      new Option('--mode <mode>', OBSERVER_OPTIONS.mode.doc)
        .choices(OBSERVER_OPTIONS.mode.type as string[])
        .default(OBSERVER_OPTIONS.mode.default),
    )
    .addOption(
      new Option('--relist-period <duration>', OBSERVER_OPTIONS.relistPeriodMs.doc)
        .argParser(parsePositiveDuration)
        .default(
          OBSERVER_OPTIONS.relistPeriodMs.default,
          formatGoDuration(OBSERVER_OPTIONS.relistPeriodMs.default),
        ),
    )
    .option('-n, --namespace <namespace>', 'Only pods of this namespace')
    .option('--pod <pod>', 'Only this pod: its name, namespace/name or uid')
    .addOption(
      new Option('-o, --output <format>', 'Output format of events')
        .choices(OUTPUT_FORMATS)
        .default(undefined, 'one screen on a terminal, else text'),
    )
    .addOption(
      verbosityOption('Log level of podloop itself, as the kubelet’s -v; 2 is usual, 4 is for debugging'),
    )
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: WatchFlags) => watch(flags, host));
}

async function watch(flags: WatchFlags, host: CliHost): Promise<void> {
  const failed = new AbortController();
  const interrupted = AbortSignal.any([host.listenForInterrupts(), host.stdout.ended]);
  const signal = AbortSignal.any([interrupted, failed.signal]);
  const lines = createLogger(host, flags.verbosity);
  const filter = { namespace: flags.namespace, pod: flags.pod, nodeName: hostname().toLowerCase() };
  let runtimeIsThere = true;
  const endpoint = flags.runtimeEndpoint ?? flags.containerRuntimeEndpoint;
  const { mode, relistPeriod: relistPeriodMs } = flags;
  try {
    const runtimeEndpoint = await chooseRuntimeEndpoint(endpoint, host, interrupted);
    using screen = await openScreen(flags, filter, lines, host);
    // Log lines on the same terminal would break the screen.
    const logger = screen !== undefined && host.stderr.isTerminal ? screen.log : lines;
    await using observer = await Observer.connect(
      { runtimeEndpoint, mode, relistPeriodMs },
      {
        clock: host.clock,
        // An error that each relist repeats is logged once, below, except at debug level.
        logger: flags.verbosity > 0 ? logger : SILENT_LOGGER,
        onRuntimeLost: (message) => {
          runtimeIsThere = false;
          screen?.setLost(message);
          logger.warn('Runtime is gone, waiting for it to come back', {
            endpoint: observer.endpoint,
            err: message,
          });
        },
        onRuntimeBack: () => {
          runtimeIsThere = true;
          screen?.setLost(undefined);
          logger.info('Runtime is back', { endpoint: observer.endpoint });
        },
        onWarning: (message) => logger.warn(message),
      },
      interrupted,
    );
    const { runtimeName, runtimeVersion } = observer;
    const relistPeriod = formatGoDuration(relistPeriodMs);
    logger.info('Watching', {
      endpoint: observer.endpoint,
      runtime: `${runtimeName} ${runtimeVersion}`,
      mode,
      relistPeriod,
    });
    const report = new HealthReport(logger);
    screen?.show(observer);
    const print = createEventPrinter(flags.output ?? 'text', host.pid);
    const write = async (event: PodLifecycleEvent): Promise<void> => {
      if (screen === undefined) await host.stdout.writeLine(print(event), signal);
      else screen.add(event);
    };
    let isListed = false;
    const warnOfNoMatch = (): void => {
      if (isListed || observer.health().lastSeenAtMs === undefined) return;
      isListed = true;
      const words = describeNoMatch(observer.pods(), filter);
      if (words !== undefined) logger.warn(words);
    };
    await Promise.all([
      handOn(observer, filter, write, signal),
      repeat(host, signal, () => {
        report.update(observer.health(), runtimeIsThere);
        warnOfNoMatch();
      }),
      observer.run(signal),
    ]);
  } catch (error) {
    if (!interrupted.aborted) throw error;
  } finally {
    failed.abort();
  }
  if (host.stdout.failure !== undefined) throw host.stdout.failure;
}

/** Loaded only where there is one. */
async function openScreen(
  { output }: WatchFlags,
  filter: EventFilter,
  logger: Logger,
  host: CliHost,
): Promise<WatchScreen | undefined> {
  const { terminal } = host;
  if (terminal === undefined || output !== undefined) return undefined;
  const screens = await import('./watch-screen.js');
  return new screens.WatchScreen({ host, terminal, logger, filter });
}

async function handOn(
  observer: Observer,
  filter: EventFilter,
  write: (event: PodLifecycleEvent) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  await using events = observer.subscribe();
  signal.addEventListener('abort', () => events.close(), { once: true });
  for await (const event of events) {
    if (signal.aborted) return;
    if (matchesFilter(event, filter)) await write(event);
  }
}

async function repeat(host: CliHost, signal: AbortSignal, look: () => void): Promise<void> {
  while (!signal.aborted) {
    look();
    await host.clock.sleep(HEALTH_LOOK_MS, signal).catch(() => undefined);
  }
}
