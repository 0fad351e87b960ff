import { Command, Option } from 'commander';
import {
  addSessionFlags,
  type AgentSession,
  type SessionFlags,
  stripEquals,
  withAgent,
} from '../../shared/agent-session.js';
import { ApiError } from '../../shared/api/api-status.js';
import { readName } from '../../shared/api/object-selection.js';
import { findResourceType, pathOf, qualifiedName } from '../../shared/api/resource-type.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { DRY_RUN_WORDS, type DryRun, dryRunOption } from '../../shared/dry-run.js';
import { type FileFlags, fileOptions } from '../../shared/file-flags.js';
import { type ManifestItem, readManifestObjects } from '../../shared/manifest-objects.js';
import { toJsonText, toYamlText } from '../../shared/print/object-text.js';
import { wrapNotes } from '../../help-layout.js';
import { type KubeObject } from '#kube/columns/kube-object.js';

interface ApplyFlags extends SessionFlags, FileFlags {
  /** The CronJob whose Job is created at once. */
  readonly from?: string;
  readonly dryRun: DryRun;
  readonly output?: 'name' | 'json' | 'yaml';
}

const HELP = `
The agent keeps the manifests in its folder of manifests, so they run again after a restart. Takes Pods, ConfigMaps,
Secrets and Lists of them.

Examples:
  # Create or change what a file says
  podloop apply -f web.yaml

  # What another program writes
  kubectl create configmap conf --from-file=app.ini --dry-run=client -o yaml | podloop apply -f -

  # Whether the agent would take it, and what would happen
  podloop apply -f pods/ --dry-run=server`;

const CREATE_HELP = `
An object that is there already is an error, and stays as it is: "podloop apply" changes it. One with generateName gets a name that begins so, another one
each time.

Examples:
  # Create what a file says
  podloop create -f web.yaml

  # Whether the agent would take it
  podloop create -f pods/ --dry-run=server

  # Run a CronJob now
  podloop create job try --from=cronjob/backup`;

/** `podloop apply`: hands manifests to a running agent. */
export function applyCommand(host: CliHost): Command {
  const description = 'Create or change objects of a running agent from manifests.';
  return buildCommand('apply', { description, help: HELP }, host);
}

/** `podloop create`: the same for objects that are not there yet. */
export function createCommand(host: CliHost): Command {
  const description = 'Create objects of a running agent from manifests; fails for those that are there.';
  return buildCommand('create', { description, help: CREATE_HELP }, host)
    .argument('[job...]', 'With --from: "job" and its name')
    .addOption(new Option('--from <cronjob>', 'Create the Job of a CronJob now, as in cronjob/backup'));
}

type Verb = 'apply' | 'create';

function buildCommand(
  verb: Verb,
  { description, help }: { readonly description: string; readonly help: string },
  host: CliHost,
): Command {
  const command = new Command(verb).description(description);
  for (const option of fileOptions()) command.addOption(option);
  return addSessionFlags(command)
    .addOption(
      dryRunOption(
        'Only say what would happen: client asks the agent what is there, server has it check all',
      ),
    )
    .addOption(
      new Option('-o, --output <format>', 'Print each object as name, json or yaml').argParser(parseOutput),
    )
    .addHelpText('after', wrapNotes(help))
    .action(async () => {
      const flags = command.opts<ApplyFlags>();
      await withAgent(host, flags, (session) => apply(verb, command.args, flags, session, host));
    });
}

function parseOutput(text: string): string {
  const format = stripEquals(text);
  if (['name', 'json', 'yaml'].includes(format)) return format;
  throw failure(
    `unable to match a printer suitable for the output format "${format}", allowed formats are: json,name,yaml`,
  );
}

async function apply(
  verb: Verb,
  words: readonly string[],
  flags: ApplyFlags,
  session: AgentSession,
  host: CliHost,
): Promise<void> {
  const items =
    words.length > 0 || flags.from !== undefined
      ? [await toJobOf(words, flags, session)]
      : await readItems(verb, flags, session, host);
  const failures: ApiError[] = [];
  for (const item of items) {
    try {
      const { object, result } = await sendOne(verb, item, flags, session);
      await print(item, object, result, flags, host);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new CommandFailure(failures.flatMap(({ lines }) => lines));
}

async function readItems(
  verb: Verb,
  { filename: paths, recursive }: ApplyFlags,
  { signal, namespace, namespaceGiven }: AgentSession,
  host: CliHost,
): Promise<ManifestItem[]> {
  const places = { paths, recursive, namespace, namespaceGiven };
  return readManifestObjects({ ...places, host, signal, verb, generatesNames: verb === 'create' });
}

const USAGE = 'only a Job can be created without -f: podloop create job NAME --from=cronjob/NAME';

/** The Job that a CronJob would make now, as kubectl makes it. Throws a CommandFailure. */
async function toJobOf(
  [kind = '', name, ...others]: readonly string[],
  { from = '', filename }: ApplyFlags,
  { client, namespace }: AgentSession,
): Promise<ManifestItem> {
  const type = findResourceType('job');
  const isJob = ['job', 'jobs', 'job.batch'].includes(kind);
  if (!isJob || name === undefined || others.length > 0 || from === '' || filename.length > 0)
    throw failure(USAGE);
  const source = readName(from);
  if (source.type.kind !== 'CronJob')
    throw failure(`--from takes a CronJob, as in cronjob/NAME, not ${from}`);
  const { spec } = (await client.get(pathOf(source.type, namespace, source.name))) as CronJobObject;
  const { metadata = {}, spec: ofJob } = spec?.jobTemplate ?? {};
  const annotations = { ...metadata.annotations, 'cronjob.kubernetes.io/instantiate': 'manual' };
  const { labels } = metadata;
  const object = {
    ...{ apiVersion: 'batch/v1', kind: 'Job', spec: ofJob },
    metadata: { name, namespace, annotations, ...(labels === undefined ? {} : { labels }) },
  };
  return { type, namespace, name, object, file: from };
}

interface CronJobObject extends KubeObject {
  readonly spec?: {
    readonly jobTemplate?: {
      readonly metadata?: Pick<NonNullable<KubeObject['metadata']>, 'labels' | 'annotations'>;
      readonly spec?: object;
    };
  };
}

interface Applied {
  readonly object: KubeObject;
  readonly result: string;
}

/** A Secret may be there and not be shown: only the server says whether it can be created. */
async function sendOne(
  verb: Verb,
  item: ManifestItem,
  { dryRun }: ApplyFlags,
  { client }: AgentSession,
): Promise<Applied> {
  const { type, namespace, name, object, file } = item;
  const path = pathOf(type, namespace, name);
  if (dryRun === 'client') {
    const there = name !== '' && (await client.get(path).then(() => true, mayBeThere));
    if (verb === 'create' && there && type.plural !== 'secrets') {
      const message = `${type.plural} "${name}" already exists`;
      throw new ApiError(409, { kind: 'Status', reason: 'AlreadyExists', message }).when('creating', file);
    }
    return { object, result: verb === 'apply' && there ? 'configured' : 'created' };
  }
  const query = dryRun === 'server' ? { dryRun: 'All' } : {};
  try {
    const answer = await client.send('POST', pathOf(type, namespace), { query, body: object });
    return { object: answer.object, result: answer.result ?? 'created' };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (verb === 'create' || error.reason !== 'AlreadyExists') throw error.when('creating', file);
  }
  try {
    const answer = await client.send('PUT', path, { query, body: object });
    return { object: answer.object, result: answer.result ?? 'configured' };
  } catch (error) {
    throw error instanceof ApiError ? error.when('applying patch to', file) : error;
  }
}

/** Whether an object that could not be got is there all the same, for all that is known. */
function mayBeThere(error: unknown): boolean {
  if (!(error instanceof ApiError)) throw error;
  return error.reason !== 'NotFound';
}

async function print(
  { type, name }: ManifestItem,
  object: KubeObject,
  result: string,
  { output, dryRun }: ApplyFlags,
  { stdout }: CliHost,
): Promise<void> {
  // An agent puts the name of its node behind that of a pod.
  const called = `${qualifiedName(type)}/${object.metadata?.name ?? name}`;
  if (output === 'json') await stdout.writeLine(toJsonText(object));
  else if (output === 'yaml') await stdout.writeLine(toYamlText(object));
  else await stdout.writeLine(output === 'name' ? called : `${called} ${result}${DRY_RUN_WORDS[dryRun]}`);
}
