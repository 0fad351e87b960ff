import { Command, Option } from 'commander';
import { addSessionFlags, stripEquals, withAgent } from '../../shared/agent-session.js';
import { readSelection, refuseSecrets } from '../../shared/api/object-selection.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { type GetFlags } from '../../shared/api/get-flags.js';
import { GetRequest } from '../../shared/api/get-request.js';
import { ObjectWatcher } from '../../shared/object-watcher.js';
import { readOutputFormat } from '../../shared/print/output-format.js';
import { selectorOption } from '../../shared/selector-option.js';
import { groupFlags, wrapNotes } from '../../help-layout.js';

/** Below these headings in the help; the rest is below Options. */
const FLAG_GROUPS = {
  'Which objects': [
    '--namespace',
    '--all-namespaces',
    '--selector',
    '--field-selector',
    '--ignore-not-found',
  ],
  'What is printed': [
    '--output',
    '--no-headers',
    '--show-labels',
    '--show-kind',
    '--label-columns',
    '--sort-by',
    '--allow-missing-template-keys',
    '--no-allow-missing-template-keys',
  ],
  Changes: ['--watch', '--watch-only', '--output-watch-events'],
};

const HELP = `
Kinds: pods (po), deployments (deploy), replicasets (rs), statefulsets (sts), daemonsets (ds), jobs, cronjobs (cj), persistentvolumeclaims (pvc),
replicationcontrollers (rc), services (svc), endpoints (ep), endpointslices, configmaps (cm), events (ev), nodes (no).

Examples:
  # The pods of the agent that runs on this machine
  podloop get pods -A -o wide

  # One pod as it stands, and every change of it from then on
  podloop get pod web --watch

  # The names of all pods that crash
  podloop get pods -o custom-columns=NAME:.metadata.name,WHY:.status.containerStatuses[*].state.waiting.reason

  # An address
  podloop get pod web -o jsonpath='{.status.podIP}{"\\n"}'

  # What happened lately
  podloop get events --sort-by=.lastTimestamp`;

/** `podloop get`: objects of a running agent, as kubectl shows them. */
export function getCommand(host: CliHost): Command {
  const command = new Command('get')
    .description('Show pods and other objects of a running agent.')
    .argument('[what...]', 'Kind and names, as in "pods", "pod web db" or "pod/web cm/conf"');
  addSessionFlags(command)
    .option('-A, --all-namespaces', 'Objects of all namespaces', false)
    .addOption(selectorOption())
    .option('--field-selector <selector>', 'Only objects with these fields, as in status.phase=Running')
    .addOption(
      new Option(
        '-o, --output <format>',
        'wide, json, yaml, name, jsonpath=TEMPLATE, jsonpath-file=FILE, custom-columns=SPEC or custom-columns-file=FILE',
      ).argParser(stripEquals),
    )
    .option('-w, --watch', 'Show the objects, then every change', false)
    .option('--watch-only', 'Show only changes', false)
    .option(
      '--output-watch-events',
      'With --watch: show the type of each change (ADDED, MODIFIED or DELETED)',
      false,
    )
    .option('--ignore-not-found', 'Do not fail if an object does not exist', false)
    .option('--no-headers', 'Do not print the column names')
    .option('--show-labels', 'Show all labels in a column', false)
    .option('--show-kind', 'Print the kind before each name', false)
    .addOption(
      new Option('-L, --label-columns <labels>', 'Labels to show as columns, separated by commas')
        .argParser((text: string, before: readonly string[]) => [...before, ...stripEquals(text).split(',')])
        .default([], 'none'),
    )
    .option('--sort-by <path>', 'Sort by a field, as in .metadata.creationTimestamp')
    .option('--allow-missing-template-keys', 'Ignore missing fields in a template', true)
    .option('--no-allow-missing-template-keys', 'Fail if a template names a missing field');
  return groupFlags(command, FLAG_GROUPS)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: GetFlags) => get(words, flags, host));
}

async function get(words: readonly string[], flags: GetFlags, host: CliHost): Promise<void> {
  if (words.length === 0) throw failure(MISSING_KIND);
  const hasSelector = flags.selector !== undefined || flags.fieldSelector !== undefined;
  const { allNamespaces } = flags;
  const selection = readSelection(words, { hasSelector, allNamespaces }, 'get');
  refuseSecrets(selection);
  const format = await readOutputFormat(flags.output);
  checkFlags(flags, format.kind === 'table');
  await withAgent(host, flags, async (session) => {
    const request = { selection, flags, format, session, host };
    if (flags.watch || flags.watchOnly) await new ObjectWatcher(request).run();
    else await new GetRequest(request).run();
  });
}

const MISSING_KIND =
  'You must specify the type of resource to get, as in "podloop get pods": pods, deployments, jobs, configmaps, events, nodes and others.';

function checkFlags({ showLabels, labelColumns, output = '', ...flags }: GetFlags, isTable: boolean): void {
  if (showLabels && !isTable) throw failure(`--show-labels option cannot be used with ${output} printer`);
  if (labelColumns.length > 0 && output.startsWith('custom-columns')) {
    throw failure(`--label-columns option cannot be used with ${output} printer`);
  }
  if (flags.outputWatchEvents && !flags.watch && !flags.watchOnly) {
    throw failure('--output-watch-events option can only be used with --watch or --watch-only');
  }
}
