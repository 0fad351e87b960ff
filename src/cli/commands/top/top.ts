import { existsSync } from 'node:fs';
import { Command, Option } from 'commander';
import { plegReportJson } from '#watch';
import { AgentClient } from '../../shared/api/agent-client.js';
import { addSessionFlags } from '../../shared/agent-session.js';
import { failure } from '../../command-failure.js';
import { selectorOption } from '../../shared/selector-option.js';
import { topNode, topPods, type UsageFlags } from './top-usage.js';
import { resolveAgentSocket } from '../../shared/api/agent-socket.js';
import { type CliHost } from '../../cli-host.js';
import { chooseRuntimeEndpoint } from '../../shared/find-runtime-endpoint.js';
import { parsePositiveDuration } from '../../shared/flag-values.js';
import { kubeletsEndpointOption } from '../../shared/runtime-endpoint.js';
import { agentReports, type ReportSource, runtimeReports } from './report-source.js';
import { EventRates } from './event-rates.js';
import { allowsColor, plainRows } from '../../shared/screen/row.js';
import { POD_ORDERS, type PodOrder } from './sort-pods.js';
import { plainTopRows } from './top-rows.js';
import { INITIAL_VIEW, type TopView } from './top-view.js';
import { groupFlags, wrapNotes } from '../../help-layout.js';
import { abortable } from '#base/async/abortable.js';
import { messageOf } from '#base/errors/errors.js';
import { type Terminal } from '../../terminal.js';
import { TopScreen } from './top-screen.js';

interface TopFlags extends Omit<UsageFlags, 'sortBy'> {
  readonly runtimeEndpoint?: string;
  readonly containerRuntimeEndpoint?: string;
  readonly interval: number;
  readonly sortBy?: string;
  readonly filter: string;
  readonly once: boolean;
  readonly output: 'text' | 'json';
}

/** Below these headings in the help; the rest is below Options. */
const FLAG_HEADINGS = {
  'With pods': ['--namespace', '--all-namespaces', '--selector', '--containers', '--sum'],
  'With node': ['--show-capacity'],
  'With pleg': [
    ...['--runtime-endpoint', '--container-runtime-endpoint', '--interval', '--filter', '--once', '--output'],
  ],
};

const HELP = `
"top pods" and "top node" show what pods and the node use. "top pleg" shows where the event generator's time goes: of the
agent whose socket is there, else of the runtime that is found on this machine. On a terminal press ? for its keys.

Without an argument it shows pleg, until the next release.

Examples:
  # CPU and memory of the pods of the default namespace, the largest first
  podloop top pods --sort-by memory

  # Of a pod's containers, and of the node
  podloop top pod web --containers
  podloop top node

  # Beside a kubelet: which pod, or which call, makes the list of pods slow
  podloop top pleg --runtime-endpoint unix:///run/containerd/containerd.sock

  # Calls that hang now, for a program to read
  podloop top pleg -o json | jq '.callsInFlight[] | select(.ageMs > 10000)'`;

/** What can be shown, by kubectl's words for it. */
const SUBJECTS: Readonly<Record<string, 'pods' | 'node' | 'pleg'>> = {
  ...{ pods: 'pods', pod: 'pods', po: 'pods' },
  ...{ node: 'node', nodes: 'node', no: 'node' },
  pleg: 'pleg',
};
const USAGE_ORDERS = ['cpu', 'memory'];

/** `podloop top`: what pods and the node use, and where the time of the event generator goes. */
export function topCommand(host: CliHost): Command {
  const command = new Command('top')
    .description('Show what pods or the node use, or live where relists spend their time.')
    .argument('[what]', 'pods, node or pleg')
    .argument('[name...]', 'Name of a pod or of the node');
  addSessionFlags(command)
    .option('-A, --all-namespaces', 'Pods of all namespaces', false)
    .addOption(selectorOption())
    .option('--containers', 'A row for each container', false)
    .option('--sum', 'Print the sums as well', false)
    .option('--no-headers', 'With pods and node: print no line of headings')
    .option('--show-capacity', 'Shares of all that the node has, not of what pods may have', false)
    .option(
      '--sort-by <order>',
      `Sort order of pods: ${USAGE_ORDERS.join(' or ')}; with pleg ${POD_ORDERS.join(', ')} (default: by name; with pleg worst)`,
    )
    .addOption(
      new Option(
        '--runtime-endpoint <endpoint>',
        'Show a runtime instead of an agent: unix:///path of its socket, or "embedded"',
      ).conflicts('socket'),
    )
    .addOption(kubeletsEndpointOption('socket'))
    .addOption(
      new Option('--interval <duration>', 'Time between two updates')
        .argParser(parsePositiveDuration)
        .default(1_000, '1s'),
    )
    .option('--filter <text>', 'Only pods and calls with this text in their names', '')
    .option('--once', 'Print the screen once as plain text, even on a terminal', false)
    .addOption(
      new Option('-o, --output <format>', 'json prints the whole report once, as /debug/pleg has it')
        .choices(['text', 'json'])
        .default('text'),
    );
  return groupFlags(command, FLAG_HEADINGS)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (what: string | undefined, names: string[], flags: TopFlags) => {
      const subject = what === undefined ? 'pleg' : readSubject(what);
      const { sortBy } = flags;
      const orders: readonly string[] = subject === 'pleg' ? POD_ORDERS : USAGE_ORDERS;
      if (sortBy !== undefined && !orders.includes(sortBy))
        throw failure(`--sort-by of ${subject} is ${orders.join(', ')}, not ${JSON.stringify(sortBy)}`);
      const given = sortBy === undefined ? {} : { sortBy };
      if (subject === 'pods') return topPods(names, { ...flags, ...given }, host);
      if (subject === 'node') return topNode(names, { ...flags, ...given }, host);
      if (names.length > 0) throw failure('pleg has no names; for some pods alone use --filter');
      if (what === undefined) await host.stderr.writeLine(NOTE);
      await topPleg({ ...flags, sortBy: (sortBy ?? 'worst') as PodOrder }, host);
    });
}

const NOTE =
  'Note: this screen is "podloop top pleg" from the next release on; CPU and memory: podloop top pods, podloop top node';

function readSubject(word: string): 'pods' | 'node' | 'pleg' {
  if (Object.hasOwn(SUBJECTS, word)) return SUBJECTS[word]!;
  throw failure(
    `there is no "top ${word}"; there are top pods, top node and top pleg. For one pod: top pod ${word}`,
  );
}

type PlegFlags = TopFlags & { readonly sortBy: PodOrder };

async function topPleg(flags: PlegFlags, host: CliHost): Promise<void> {
  const { stdout } = host;
  const signal = AbortSignal.any([host.listenForInterrupts(), stdout.ended]);
  const view: TopView = { ...INITIAL_VIEW, order: flags.sortBy, filter: flags.filter };
  const terminal = flags.once || flags.output === 'json' ? undefined : host.terminal;
  // A screen can show that the first look hangs; what is printed once should have it.
  const firstLookMs = terminal === undefined ? 10_000 : 500;
  try {
    await using source = await openSource(flags, { host, firstLookMs, signal });
    if (terminal === undefined) await printOnce(source, { flags, view, host, signal });
    else await runTop({ host, terminal, source, intervalMs: flags.interval, view, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  if (stdout.failure !== undefined) throw stdout.failure;
}

interface SourceOptions {
  readonly host: CliHost;
  readonly firstLookMs: number;
  readonly signal: AbortSignal;
}

async function openSource(
  flags: TopFlags,
  { host, firstLookMs, signal }: SourceOptions,
): Promise<ReportSource> {
  const { env, clock } = host;
  const endpoint = flags.runtimeEndpoint ?? flags.containerRuntimeEndpoint;
  const socketPath = resolveAgentSocket(flags.socket, env, process.getuid?.() ?? 0);
  const isNamed = flags.socket !== undefined || (env['PODLOOP_SOCKET'] ?? '') !== '';
  if (endpoint === undefined && (isNamed || existsSync(socketPath))) {
    return agentReports(new AgentClient({ socketPath, clock, signal }));
  }
  const runtimeEndpoint = await chooseRuntimeEndpoint(endpoint, host, signal);
  return await runtimeReports({ runtimeEndpoint, firstLookMs, clock, signal });
}

interface PrintOptions {
  readonly flags: PlegFlags;
  readonly view: TopView;
  readonly host: CliHost;
  readonly signal: AbortSignal;
}

async function printOnce(source: ReportSource, { flags, view, host, signal }: PrintOptions): Promise<void> {
  const report = await source.read(signal);
  const rates = new EventRates();
  rates.add(report);
  const lines =
    flags.output === 'json'
      ? [plegReportJson(report)]
      : plainRows(plainTopRows({ title: source.title, report, rates, view, problem: undefined }));
  for (const line of lines) await host.stdout.writeLine(line, signal);
}

/** What {@link runTop} needs. */
interface RunTopOptions {
  readonly host: CliHost;
  readonly terminal: Terminal;
  readonly source: ReportSource;
  readonly intervalMs: number;
  readonly view: TopView;
  /** Aborts when it is to end. */
  readonly signal: AbortSignal;
}

/** Shows reports on the terminal until the signal aborts or somebody quits. Rejects when there is not even a first one. */
async function runTop({ host, terminal, source, intervalMs, view, signal }: RunTopOptions): Promise<void> {
  const { clock, env } = host;
  const report = await source.read(signal);
  const quitting = new AbortController();
  const ended = AbortSignal.any([signal, quitting.signal]);
  const withColor = allowsColor(env);
  const quit = (): void => quitting.abort();
  using shown = new TopScreen({ terminal, host, title: source.title, report, view, withColor, quit });
  while (await sleptWell(clock.sleep(intervalMs, ended))) {
    // Nobody who quits waits for an agent that does not answer.
    const reading = source.read(ended).then(
      (newest) => shown.take(newest),
      (error: unknown) => shown.fail(messageOf(error)),
    );
    await abortable(reading, ended).catch(() => undefined);
  }
}

async function sleptWell(sleep: Promise<void>): Promise<boolean> {
  return await sleep.then(
    () => true,
    () => false,
  );
}
