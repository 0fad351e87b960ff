import { dirname } from 'node:path';
import { Command, Option } from 'commander';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import { addSessionFlags, type SessionFlags, stripEquals, withAgent } from '../../shared/agent-session.js';
import { readPodName } from '../../shared/api/object-selection.js';
import { HistoryReader, type HistoryRecord } from '../../shared/history/history-reader.js';
import { layOutTable } from '../../shared/print/tab-columns.js';
import { toJsonText } from '../../shared/print/object-text.js';
import { findStarts, type PodStart, type StepSpan } from './find-starts.js';

interface BlameFlags extends SessionFlags {
  readonly allNamespaces: boolean;
  readonly output?: 'json';
  /** The contrary of `--no-headers`. */
  readonly headers: boolean;
  readonly rootDir?: string;
}

const HELP = `
The steps are admission, volumes (with all else before the sandbox), sandbox, and for each container pull (with retries),
create (with retries, as while a ConfigMap is missing), start, init (the run of an init container), startup-probe and readiness-probe. Steps of several containers may
overlap. A time with + behind it has not ended.

While no agent answers, the history is read from the disk: from the folder of the socket, or --root-dir. A pod may be named
as in its manifest, without the node's name behind it.

Examples:
  # The pods that took longest to start, with the step that took most of it
  podloop blame -A

  # Where the start of one pod spent its time
  podloop blame web

  # The same for a program, in milliseconds
  podloop blame web -o json | jq '.items[0].steps'`;

/** `podloop blame`: where the starts of pods spent their time. */
export function blameCommand(host: CliHost): Command {
  const command = new Command('blame')
    .description('Show where the start of a pod spent its time, longest first, or which pods took longest.')
    .argument('[pod]', 'Name of a pod (default: all pods, the slowest first)');
  return addSessionFlags(command)
    .option('-A, --all-namespaces', 'Pods of all namespaces', false)
    .addOption(new Option('-o, --output <format>', 'json').argParser(parseOutput))
    .option('--no-headers', 'Do not print the column names')
    .option(
      '--root-dir <path>',
      'Root folder of the agent, which is read while the agent is down (default: the folder of the socket)',
    )
    .addHelpText('after', wrapNotes(HELP))
    .action(async (pod: string | undefined, flags: BlameFlags) => blame(pod, flags, host));
}

function parseOutput(text: string): string {
  const format = stripEquals(text);
  if (format === 'json') return format;
  throw failure(
    `unable to match a printer suitable for the output format "${format}", allowed formats are: json`,
  );
}

async function blame(word: string | undefined, flags: BlameFlags, host: CliHost): Promise<void> {
  const { stdout, stderr, clock } = host;
  const pod = word === undefined ? undefined : readPodName(word, `blame is for pods alone, not ${word}`);
  if (pod !== undefined && flags.allNamespaces)
    throw failure('a pod cannot be named with --all-namespaces; use -n');
  await withAgent(host, flags, async ({ client, signal, namespace }) => {
    const filter = { pod, namespace: flags.allNamespaces ? undefined : namespace, kinds: KINDS };
    const reader = new HistoryReader({
      ...{ client, signal, clock, filter, watch: false },
      rootDir: flags.rootDir ?? dirname(client.socketPath),
    });
    const records: HistoryRecord[] = [];
    for await (const record of reader.read()) records.push(record);
    const starts = findStarts(records, clock.now());
    if (flags.output === 'json') {
      const list = { apiVersion: 'podloop.dev/v1', kind: 'PodStartList', items: starts.map(toItem) };
      return stdout.writeLine(toJsonText(list).trimEnd());
    }
    if (starts.length === 0) {
      const where = flags.allNamespaces ? '' : ` in ${namespace} namespace`;
      if (pod !== undefined) throw failure(`the history has no start of a pod ${pod}${where}`);
      return stderr.writeLine(`No starts of pods found${where}.`);
    }
    const table = pod === undefined ? podRows(starts, flags.allNamespaces) : starts.flatMap(stepRows);
    const heading = pod === undefined ? podHeading(flags.allNamespaces) : ['TIME', 'AT', 'STEP', 'CONTAINER'];
    const rows = flags.headers ? [heading, ...table] : table;
    for (const line of layOutTable(rows)) await stdout.writeLine(line);
  });
}

/** The kinds of records that show a start. */
const KINDS = ['lifecycle', 'event', 'sync', 'probe'];

function podHeading(withNamespace: boolean): string[] {
  return [...(withNamespace ? ['NAMESPACE'] : []), 'TIME', 'POD', 'LONGEST STEP', 'CONTAINER', 'STEP TIME'];
}

function podRows(starts: readonly PodStart[], withNamespace: boolean): string[][] {
  return starts.map(({ namespace, name, durationMs, steps }) => {
    const [longest] = steps;
    const isOpen = steps.some((step) => step.isOpen);
    return [
      ...(withNamespace ? [namespace] : []),
      ...[formatTime(durationMs, isOpen), name],
      ...[longest!.step, longest!.container ?? '-', formatTime(longest!.durationMs, longest!.isOpen)],
    ];
  });
}

/** `AT` is how long after the begin of the start a step began. */
function stepRows({ steps, fromMs: beganAtMs }: PodStart): string[][] {
  return steps.map(({ step, container = '-', fromMs, durationMs, isOpen }) => [
    ...[formatTime(durationMs, isOpen), `+${formatTime(fromMs - beganAtMs, false)}`, step, container],
  ]);
}

function formatTime(ms: number, isOpen: boolean): string {
  return `${formatGoDuration(Math.round(ms))}${isOpen ? '+' : ''}`;
}

function toItem({ fromMs, steps, ...start }: PodStart): object {
  return { ...start, startedAt: new Date(fromMs).toISOString(), steps: steps.map(toStepItem) };
}

function toStepItem({ fromMs, isOpen, ...step }: StepSpan): object {
  return { ...step, startedAt: new Date(fromMs).toISOString(), ...(isOpen ? { isOpen } : {}) };
}
