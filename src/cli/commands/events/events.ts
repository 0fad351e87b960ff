import { dirname } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { JOURNAL_KINDS } from '#node';
import { type HistoryFilter } from '#kube/node/history-filter.js';
import { parseGoDuration } from '#base/time/go-duration.js';
import {
  addSessionFlags,
  type AgentSession,
  type SessionFlags,
  stripEquals,
  withAgent,
} from '../../shared/agent-session.js';
import { type NamedObject, readSelection } from '../../shared/api/object-selection.js';
import { findResourceType, hasPodTemplate, PODS } from '../../shared/api/resource-type.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { HistoryReader, type HistoryRecord } from '../../shared/history/history-reader.js';
import { toEventObject } from './to-event-object.js';
import { ObjectPrinter } from '../../shared/print/object-printer.js';
import { type OutputFormat, readOutputFormat } from '../../shared/print/output-format.js';
import { wrapNotes } from '../../help-layout.js';
import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { formatHumanDuration } from '#base/time/human-duration.js';
import { RememberedWidths } from '../../shared/print/remembered-widths.js';
import { toCell } from '../../shared/print/terminal-text.js';

interface EventsFlags extends SessionFlags {
  readonly allNamespaces: boolean;
  readonly since?: string;
  readonly until?: string;
  readonly pod?: string;
  /** kubectl's word for {@link EventsFlags.pod}: `pod/web`. */
  readonly for?: string;
  readonly uid?: string;
  readonly types?: readonly string[];
  readonly kinds?: readonly string[];
  readonly watch: boolean;
  readonly output?: string;
  readonly headers: boolean;
  readonly rootDir?: string;
}

const HELP = `
While no agent answers, the history is read from the disk: from the folder of the socket, or --root-dir. A pod may be named
as in its manifest, without the node's name behind it.

Examples:
  # What happened in the last hour, in all namespaces
  podloop events -A --since 1h

  # The life of one pod, and what happens to it from now on
  podloop events --pod default/web -w

  # What went wrong
  podloop events -A --types Warning

  # Restarts, and calls of the runtime that hung or were slow
  podloop events -A --kinds restart,call -o wide`;

/** So many rows are laid out together. */
const ROWS = 500;

/** `podloop events`: the history of a node, as kubectl shows events. */
export function eventsCommand(host: CliHost): Command {
  const command = new Command('events').description(
    'Show what happened on a node: to pods, the runtime and the agent; also before the agent was restarted.',
  );
  addSessionFlags(command)
    .option('-A, --all-namespaces', 'Events of all namespaces', false)
    .option(
      '--since <when>',
      'Only events after this: a duration such as 1h, or a time such as 2026-01-02T03:04:05Z',
    )
    .option('--until <when>', 'Only events before this, in the same form; --watch ends at that time')
    .option('--pod <pod>', 'Only events of this pod: its name, or namespace/name')
    .option('--for <pod>', 'Only events of this pod, as kubectl writes it: pod/web')
    .option('--uid <uid>', 'Only events of the pod with this uid, in any namespace')
    .addOption(
      wordsOption('--types <types>', 'Only events of these types: Normal, Warning', ['Normal', 'Warning']),
    )
    .addOption(
      wordsOption('--kinds <kinds>', `Only those of these kinds: ${JOURNAL_KINDS.join(', ')}`, JOURNAL_KINDS),
    )
    .option('-w, --watch', 'Keep showing new events; waits for an agent that is down', false)
    .addOption(
      new Option(
        '-o, --output <format>',
        'wide, json, yaml, name, jsonpath=TEMPLATE, jsonpath-file=FILE, custom-columns=SPEC or custom-columns-file=FILE',
      ).argParser(stripEquals),
    )
    .option('--no-headers', 'Do not print the column names')
    .option(
      '--root-dir <path>',
      'Root folder of the agent: its socket is there, and the folder is read while the agent is down (default: the folder of the socket)',
    );
  return command
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: EventsFlags) => events(flags, host));
}

async function events(given: EventsFlags, host: CliHost): Promise<void> {
  const named = given.for === undefined ? undefined : readFor(given.for, given.pod);
  const flags = { ...given, ...(named === undefined ? {} : { pod: named.name }) };
  const format = await readOutputFormat(flags.output);
  await withAgent(host, flags, async (session) => {
    const { client, signal } = session;
    const reader = new HistoryReader({
      ...{ client, signal, clock: host.clock, watch: flags.watch },
      rootDir: flags.rootDir ?? dirname(client.socketPath),
      filter: readFilter(flags, session, host.clock.now()),
    });
    const print = format.kind === 'table' ? printTable : printObjects;
    const count = await print(ofKind(reader.read(), named?.type.kind), { format, flags, host });
    if (count > 0 || flags.watch || signal.aborted) return;
    const { namespace } = readFilter(flags, session, 0);
    await host.stderr.writeLine(
      namespace === undefined ? 'No events found.' : `No events found in ${namespace} namespace.`,
    );
  });
}

interface Output {
  readonly format: OutputFormat;
  readonly flags: EventsFlags;
  readonly host: CliHost;
}

/** Prints rows some at a time, and each at once while events are watched; resolves with their number. */
async function printTable(
  records: AsyncIterable<HistoryRecord>,
  { format, flags, host }: Output,
): Promise<number> {
  const { allNamespaces, headers, watch } = flags;
  const wide = format.kind === 'table' && format.wide;
  const table = new EventTable({ withNamespace: allNamespaces, wide, headers });
  let count = 0;
  let waiting: HistoryRecord[] = [];
  const flush = async (): Promise<void> => {
    for (const line of table.add(waiting, host.clock.now())) await host.stdout.writeLine(line);
    waiting = [];
  };
  for await (const record of records) {
    count++;
    waiting.push(record);
    if (watch || waiting.length >= ROWS) await flush();
  }
  if (waiting.length > 0) await flush();
  return count;
}

/** Prints v1 Events: one list of all, or one after the other while events are watched. */
async function printObjects(
  records: AsyncIterable<HistoryRecord>,
  { format, flags, host }: Output,
): Promise<number> {
  const printer = new ObjectPrinter({
    ...{ format, host, type: findResourceType('events'), severalKinds: false },
    flags: {
      ...{ allNamespaces: flags.allNamespaces, headers: flags.headers, showLabels: false },
      ...{ showKind: false, labelColumns: [], allowMissingTemplateKeys: true },
    },
  });
  const objects: ReturnType<typeof toEventObject>[] = [];
  for await (const record of records) {
    const object = toEventObject(record);
    if (flags.watch) await printer.print([object]);
    else objects.push(object);
  }
  if (!flags.watch) await printer.printList(objects);
  return objects.length;
}

function readFilter(flags: EventsFlags, session: AgentSession, nowMs: number): HistoryFilter {
  const { pod: named, uid, types, kinds, since, until, allNamespaces } = flags;
  const [first, second] = named?.split('/') ?? [];
  const [namespace, pod] = second === undefined ? [session.namespace, first] : [first, second];
  if (named !== undefined && (pod === '' || namespace === '' || named.split('/').length > 2)) {
    throw failure(`--pod: ${JSON.stringify(named)} is no pod; use its name, or namespace/name`);
  }
  if (second !== undefined && session.namespaceGiven && namespace !== session.namespace) {
    throw failure(
      `--pod: ${JSON.stringify(named)} is not in the namespace of --namespace, ${session.namespace}`,
    );
  }
  const isEverywhere =
    second === undefined && (allNamespaces || (uid !== undefined && !session.namespaceGiven));
  return {
    ...{ pod, uid, types, kinds, namespace: isEverywhere ? undefined : namespace },
    sinceMs: since === undefined ? undefined : readWhen('--since', since, nowMs),
    untilMs: until === undefined ? undefined : readWhen('--until', until, nowMs),
  };
}

/** All records, or those about objects of a kind. */
async function* ofKind(
  records: AsyncIterable<HistoryRecord>,
  kind: string | undefined,
): AsyncGenerator<HistoryRecord, void, undefined> {
  for await (const record of records) if (kind === undefined || kindOf(record) === kind) yield record;
}

function readFor(text: string, pod: string | undefined): NamedObject {
  if (pod !== undefined) throw failure('--for and --pod both name a pod; use one of them');
  if (!text.includes('/'))
    throw failure(`--for must be in TYPE/NAME form, as in pod/web, not ${JSON.stringify(text)}`);
  const [named] = readSelection([text], { hasSelector: false, allNamespaces: false }, 'events').names;
  const { kind } = named!.type;
  if (named!.type !== PODS && !hasPodTemplate(named!.type))
    throw failure(`--for: the history names pods and workloads, and no ${kind}`);
  return named!;
}

/** Milliseconds since the epoch of `1h`, that long ago, or of a time. */
function readWhen(flag: string, text: string, nowMs: number): number {
  if (/^\d{4}-\d\d-\d\d/.test(text)) {
    const ms = Date.parse(text);
    if (!Number.isNaN(ms)) return ms;
  } else {
    try {
      return nowMs - parseGoDuration(text, flag);
    } catch {
      // Reported below.
    }
  }
  throw failure(
    `${flag}: ${JSON.stringify(text)} is neither a duration, such as 1h30m, nor a time, such as 2026-01-02T03:04:05Z`,
  );
}

function wordsOption(flag: string, doc: string, known: readonly string[]): Option {
  return new Option(flag, doc).argParser((text: string, before: readonly string[] | undefined) => {
    const found = stripEquals(text)
      .split(',')
      .map((word) => {
        const same = known.find((each) => each.toLowerCase() === word.toLowerCase());
        if (same === undefined) throw new InvalidArgumentError(`use ${known.join(', ')}`);
        return same;
      });
    return [...(before ?? []), ...found];
  });
}

/** How a table of events is shown. */
interface EventTableOptions {
  readonly withNamespace: boolean;
  /** With kind, container and exact time. */
  readonly wide: boolean;
  readonly headers: boolean;
}

/** Records as `kubectl events` shows events; rows may be added later, the header comes with the first. */
class EventTable {
  readonly #options: EventTableOptions;
  readonly #widths = new RememberedWidths();
  #hasBegun = false;

  constructor(options: EventTableOptions) {
    this.#options = options;
  }

  /** The lines of these records. */
  add(records: readonly HistoryRecord[], nowMs: number): string[] {
    const rows = records.map((record) => this.#row(record, nowMs));
    if (!this.#hasBegun && this.#options.headers) rows.unshift(this.#header());
    this.#hasBegun = true;
    return this.#widths.layOut(rows.map((row) => row.map((cell) => toCell(cell))));
  }

  #header(): string[] {
    const { withNamespace, wide } = this.#options;
    return [
      ...(withNamespace ? ['NAMESPACE'] : []),
      ...['LAST SEEN', 'TYPE', 'REASON', 'OBJECT'],
      ...(wide ? ['CONTAINER', 'KIND', 'TIME'] : []),
      'MESSAGE',
    ];
  }

  #row(record: HistoryRecord, nowMs: number): string[] {
    const { withNamespace, wide } = this.#options;
    const { atMs, kind, type, reason, message, pod, node = '', container = '' } = record;
    return [
      ...(withNamespace ? [pod?.namespace ?? DEFAULT_NAMESPACE] : []),
      ...[
        lastSeen(record, nowMs),
        type,
        reason,
        pod === undefined ? `Node/${node}` : `${kindOf(record)}/${pod.name}`,
      ],
      ...(wide ? [container, kind, new Date(atMs).toISOString()] : []),
      message.trim(),
    ];
  }
}

/** The kind of what a record is about, if that is not the node. */
function kindOf({ about }: HistoryRecord): string {
  return about?.kind ?? PODS.kind;
}

/** `5m`, or `10s (x12 over 5m)` for what has happened again and again. */
function lastSeen({ atMs, count = 1, firstAtMs = atMs }: HistoryRecord, nowMs: number): string {
  const age = formatHumanDuration(nowMs - atMs);
  return count > 1 ? `${age} (x${count} over ${formatHumanDuration(nowMs - firstAtMs)})` : age;
}
