import { existsSync } from 'node:fs';
import { Command, Option } from 'commander';
import { plegReportJson } from '#watch';
import { AgentClient } from '../../shared/api/agent-client.js';
import { socketOption } from '../../shared/agent-session.js';
import { resolveAgentSocket } from '../../shared/api/agent-socket.js';
import { type CliHost } from '../../cli-host.js';
import { chooseRuntimeEndpoint } from '../../shared/find-runtime-endpoint.js';
import { parsePositiveDuration } from '../../shared/flag-values.js';
import { kubeletsEndpointOption } from '../../shared/runtime-endpoint.js';
import { agentReports, type ReportSource, runtimeReports } from './report-source.js';
import { EventRates } from './event-rates.js';
import { plainRows } from './row.js';
import { runTop } from './run-top.js';
import { POD_ORDERS, type PodOrder } from './sort-pods.js';
import { plainTopRows } from './top-rows.js';
import { INITIAL_VIEW, type TopView } from './top-view.js';
import { wrapNotes } from '../../help-layout.js';

interface TopFlags {
  readonly socket?: string;
  readonly runtimeEndpoint?: string;
  readonly containerRuntimeEndpoint?: string;
  readonly interval: number;
  readonly sortBy: PodOrder;
  readonly filter: string;
  readonly once: boolean;
  readonly output: 'text' | 'json';
}

const HELP = `
It only reads. Without a flag it shows the agent whose socket is there, else the runtime that is found on this machine.
On a terminal press ? for the keys; when output goes elsewhere it is printed once.

Examples:
  # The agent of this machine, or its container runtime
  podloop top

  # Beside a kubelet: which pod, or which call, makes the list of pods slow
  podloop top --runtime-endpoint unix:///run/containerd/containerd.sock

  # The ten pods that containerd takes longest for
  podloop top --once --sort-by longest | head -25

  # Calls that hang now, for a program to read
  podloop top -o json | jq '.callsInFlight[] | select(.ageMs > 10000)'`;

/** `podloop top`: where the time of the event generator goes, live. */
export function topCommand(host: CliHost): Command {
  return new Command('top')
    .description(
      'Show live where relists spend their time: which pods and which calls of the runtime are slow.',
    )
    .addOption(socketOption())
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
    .addOption(new Option('--sort-by <order>', 'Sort order of pods').choices(POD_ORDERS).default('worst'))
    .option('--filter <text>', 'Only pods and calls with this text in their names', '')
    .option('--once', 'Print the screen once as plain text, even on a terminal', false)
    .addOption(
      new Option('-o, --output <format>', 'json prints the whole report once, as /debug/pleg has it')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: TopFlags) => top(flags, host));
}

async function top(flags: TopFlags, host: CliHost): Promise<void> {
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
  readonly flags: TopFlags;
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
