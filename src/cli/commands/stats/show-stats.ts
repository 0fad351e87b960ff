import { Command, Option } from 'commander';
import { getQuantity, toNumber } from '#kube/fields/quantity.js';
import { type ContainerObject, type KubeObject, type PodObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import {
  addSessionFlags,
  type AgentSession,
  type SessionFlags,
  stripEquals,
  withAgent,
} from '../../shared/agent-session.js';
import { findPodsOf } from '../../shared/pods/pods-of-object.js';
import { pathOf, PODS } from '../../shared/api/resource-type.js';
import { parsePositiveDuration } from '../../shared/flag-values.js';
import { layOutTable } from '../../shared/print/tab-columns.js';
import { LiveScreen } from '../../shared/screen/live-screen.js';
import { allowsColor, paintRows, type Row as ScreenRow } from '../../shared/screen/row.js';
import { selectorOption } from '../../shared/selector-option.js';
import {
  describeOldNumbers,
  isBusy,
  type PodUsage,
  type Usage,
  UsageReader,
} from '../../shared/usage/read-usage.js';

interface StatsFlags extends SessionFlags {
  readonly allNamespaces: boolean;
  readonly selector?: string;
  readonly containers: boolean;
  /** The contrary of `--no-stream`. */
  readonly stream: boolean;
  readonly interval: number;
  readonly output?: string;
}

const HELP = `
CPU is a share of one CPU: 200% are two. Memory is the working set, beside the limit of the pod or, without one, the memory of
the node. At a terminal the table is drawn again and again until Ctrl-C; into a pipe it is printed once.

Examples:
  # What the pods of the default namespace use, live
  podloop stats

  # All containers of two pods, once
  podloop stats web db --containers --no-stream

  # For a program
  podloop stats -A -o json | jq '.[] | select(.cpuPercent > 50) | .pod'`;

/** `podloop stats`: what pods use, as docker and podman show it of containers. */
export function statsCommand(host: CliHost): Command {
  const command = new Command('stats')
    .description('Show live what pods use: CPU, memory, network, disks and processes.')
    .argument('[pod...]', 'Names of pods (default: all of the namespace)');
  return addSessionFlags(command)
    .option('-A, --all-namespaces', 'Pods of all namespaces', false)
    .addOption(selectorOption())
    .option('--containers', 'A row for each container', false)
    .option('--no-stream', 'Print the table once, even on a terminal')
    .addOption(
      new Option('-i, --interval <duration>', 'Time between two updates')
        .argParser(parsePositiveDuration)
        .default(2_000, '2s'),
    )
    .addOption(new Option('-o, --output <format>', 'json: print once, for a program').argParser(stripEquals))
    .addHelpText('after', wrapNotes(HELP))
    .action(async (names: string[], flags: StatsFlags) => {
      if (flags.output !== undefined && flags.output !== 'json')
        throw failure(`unexpected -o output mode: ${flags.output}. We only support '-o json'`);
      if (names.length > 0 && (flags.selector !== undefined || flags.allNamespaces))
        throw failure('name the pods, or choose them by --selector or --all-namespaces, not both');
      await withAgent(host, flags, (session) => stats(names, flags, session, host));
    });
}

/** A row of the table. */
interface Row {
  readonly namespace: string;
  readonly pod: string;
  readonly container?: string;
  readonly usage: Usage & Partial<Pick<PodUsage, 'receivedBytes' | 'sentBytes'>>;
  /** Undefined when neither the limit nor the memory of the node is known. */
  readonly limitBytes: number | undefined;
}

async function stats(
  names: readonly string[],
  flags: StatsFlags,
  session: AgentSession,
  host: CliHost,
): Promise<void> {
  const reader = new UsageReader(session.client, host.clock);
  const read = async (): Promise<Shown> => {
    const pods = await listPods(names, flags, session);
    const reading = await reader.read({ withDisks: true });
    const memoryBytes = await readNodeMemory(session);
    const known = [...reading.pods].sort(byName).flatMap((usage) => {
      const pod = pods.find(
        ({ metadata }) => metadata?.namespace === usage.namespace && metadata.name === usage.name,
      );
      return pod === undefined ? [] : [{ usage, pod }];
    });
    const usages = known.map(({ usage }) => usage);
    const note = describeOldNumbers(reading, usages);
    return {
      rows: known.flatMap(({ usage, pod }) => toRows(usage, pod, flags.containers, memoryBytes)),
      note,
    };
  };
  const { terminal, clock, stdout } = host;
  let last = await read();
  const { rows } = last;
  if (flags.output === 'json') return stdout.writeLine(JSON.stringify(rows.map(toItem), undefined, 2));
  if (terminal === undefined || !flags.stream) {
    for (const line of toTable(rows, flags)) await stdout.writeLine(line);
    if (last.note !== undefined) await host.stderr.writeLine(last.note);
    return;
  }
  const withColor = allowsColor(host.env);
  let shown = toScreen(last, flags, clock.now());
  using screen = new LiveScreen({
    ...{ terminal, clock },
    render: ({ columns, rows: height }) => paintRows(shown.slice(0, height), { columns, withColor }),
  });
  let lastMs = clock.now();
  for (;;) {
    await clock.sleep(flags.interval, session.signal);
    try {
      last = await read();
      lastMs = clock.now();
    } catch (error) {
      if (!isBusy(error)) throw error;
      // What is there stays there, with its time.
      last = { ...last, note: 'The agent is too busy to answer; these are its last numbers' };
    }
    shown = toScreen(last, flags, lastMs);
    screen.draw();
  }
}

function byName(one: PodUsage, other: PodUsage): number {
  return one.namespace.localeCompare(other.namespace) || one.name.localeCompare(other.name);
}

/** What is shown, and a line below the title about numbers that are old. */
interface Shown {
  readonly rows: readonly Row[];
  readonly note: string | undefined;
}

/** The table with a title, as of `nowMs`. */
function toScreen({ rows, note = '' }: Shown, flags: StatsFlags, nowMs: number): ScreenRow[] {
  const time = new Date(nowMs).toTimeString().slice(0, 8);
  const [head = '', ...lines] = toTable(rows, flags);
  return [
    { text: `podloop stats   ${time}   Ctrl-C ends it`, style: 'title' },
    { text: note },
    { text: head, style: 'title' },
    ...lines.map((text) => ({ text })),
  ];
}

async function listPods(
  names: readonly string[],
  { allNamespaces, selector }: StatsFlags,
  session: AgentSession,
): Promise<readonly PodObject[]> {
  const { client, namespace } = session;
  if (names.length > 0)
    return (await Promise.all(names.map((name) => findPodsOf(name, session)))).flatMap(({ pods }) => pods);
  const { items = [] } = await client.get(pathOf(PODS, allNamespaces ? undefined : namespace), {
    labelSelector: selector,
  });
  return items;
}

async function readNodeMemory({ client }: AgentSession): Promise<number | undefined> {
  const { items = [] } = await client.get('/api/v1/nodes');
  const [node] = items as readonly (KubeObject & {
    readonly status?: { readonly capacity?: { memory?: string } };
  })[];
  return toBytes(node?.status?.capacity?.memory);
}

function toBytes(text: string | undefined): number | undefined {
  return text === undefined ? undefined : toNumber(getQuantity(text));
}

function toRows(
  usage: PodUsage,
  pod: PodObject,
  ofContainers: boolean,
  nodeBytes: number | undefined,
): Row[] {
  const { namespace, name } = usage;
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  if (ofContainers) {
    return usage.containers.map((container) => {
      const spec = [...containers, ...initContainers].find((each) => each.name === container.name);
      const limitBytes = limitOf(spec) ?? nodeBytes;
      return { namespace, pod: name, container: container.name, usage: container, limitBytes };
    });
  }
  // A pod has a limit when each of its containers has one.
  const limits = containers.map(limitOf);
  const known = limits.flatMap((limit) => limit ?? []);
  const sum = known.reduce((all, each) => all + each, 0);
  const limitBytes = known.length > 0 && known.length === limits.length ? sum : nodeBytes;
  return [{ namespace, pod: name, usage, limitBytes }];
}

function limitOf(container: ContainerObject | undefined): number | undefined {
  const limit = container?.resources?.limits?.['memory'];
  return limit === undefined ? undefined : toBytes(String(limit));
}

function toTable(rows: readonly Row[], { allNamespaces, containers }: StatsFlags): string[] {
  const head = [
    ...(allNamespaces ? ['NAMESPACE'] : []),
    ...(containers ? ['POD', 'CONTAINER'] : ['POD']),
    ...['CPU %', 'MEM USAGE / LIMIT', 'MEM %', ...(containers ? [] : ['NET I/O']), 'BLOCK I/O', 'PIDS'],
  ];
  const lines = rows.map(({ namespace, pod, container = '', usage, limitBytes }) => [
    ...(allNamespaces ? [namespace] : []),
    ...(containers ? [pod, container] : [pod]),
    usage.nanoCores === undefined ? NONE : percent(usage.nanoCores / 1e9),
    `${binary(usage.memoryBytes)} / ${binary(limitBytes)}`,
    usage.memoryBytes === undefined || limitBytes === undefined
      ? NONE
      : percent(usage.memoryBytes / limitBytes),
    ...(containers ? [] : [`${decimal(usage.receivedBytes)} / ${decimal(usage.sentBytes)}`]),
    `${decimal(usage.readBytes)} / ${decimal(usage.writtenBytes)}`,
    usage.processes === undefined ? NONE : String(usage.processes),
  ]);
  return layOutTable([head, ...lines]);
}

/** As docker writes what is not known. */
const NONE = '--';

function percent(share: number): string {
  return `${(100 * share).toFixed(2)}%`;
}

/** Four significant digits, as docker has them: `796KiB`, `1.5GiB`. */
function binary(bytes: number | undefined): string {
  return inUnits(bytes, 1_024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']);
}

function decimal(bytes: number | undefined): string {
  return inUnits(bytes, 1_000, ['B', 'kB', 'MB', 'GB', 'TB', 'PB']);
}

function inUnits(bytes: number | undefined, step: number, units: readonly string[]): string {
  if (bytes === undefined) return NONE;
  let [value, at] = [bytes, 0];
  for (; value >= step && at < units.length - 1; at++) value /= step;
  return `${Number(value.toPrecision(4))}${units[at]!}`;
}

function toItem({ namespace, pod, container, usage, limitBytes }: Row): object {
  const { nanoCores, memoryBytes, readBytes, writtenBytes, processes, receivedBytes, sentBytes } = usage;
  const cpuPercent = nanoCores === undefined ? undefined : Number((nanoCores / 1e7).toFixed(2));
  return {
    ...{ namespace, pod, container, cpuPercent, memoryBytes, limitBytes },
    ...{ receivedBytes, sentBytes, readBytes, writtenBytes, processes },
  };
}
