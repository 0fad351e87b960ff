import { Command, Option } from 'commander';
import {
  addSessionFlags,
  type AgentSession,
  type SessionFlags,
  stripEquals,
  withAgent,
} from '../../shared/agent-session.js';
import { ApiError } from '../../shared/api/api-status.js';
import { pathOf, qualifiedName } from '../../shared/api/resource-type.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { DRY_RUN_WORDS, type DryRun, dryRunOption } from '../../shared/dry-run.js';
import { type FileFlags, fileOptions } from '../../shared/file-flags.js';
import { type ManifestItem, readManifestObjects } from '../../shared/manifest-objects.js';
import { toJsonText, toYamlText } from '../../shared/print/object-text.js';
import { wrapNotes } from '../../help-layout.js';
import { type KubeObject } from '#kube/columns/kube-object.js';

interface ApplyFlags extends SessionFlags, FileFlags {
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
  podloop create -f pods/ --dry-run=server`;

/** `podloop apply`: hands manifests to a running agent. */
export function applyCommand(host: CliHost): Command {
  const description = 'Create or change objects of a running agent from manifests.';
  return buildCommand('apply', { description, help: HELP }, host);
}

/** `podloop create`: the same for objects that are not there yet. */
export function createCommand(host: CliHost): Command {
  const description = 'Create objects of a running agent from manifests; fails for those that are there.';
  return buildCommand('create', { description, help: CREATE_HELP }, host);
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
    .action(async (flags: ApplyFlags) => {
      await withAgent(host, flags, (session) => apply(verb, flags, session, host));
    });
}

function parseOutput(text: string): string {
  const format = stripEquals(text);
  if (['name', 'json', 'yaml'].includes(format)) return format;
  throw failure(
    `unable to match a printer suitable for the output format "${format}", allowed formats are: json,name,yaml`,
  );
}

async function apply(verb: Verb, flags: ApplyFlags, session: AgentSession, host: CliHost): Promise<void> {
  const { filename: paths, recursive } = flags;
  const { signal, namespace, namespaceGiven } = session;
  const places = { paths, recursive, namespace, namespaceGiven };
  const items = await readManifestObjects({
    ...places,
    host,
    signal,
    verb,
    generatesNames: verb === 'create',
  });
  if (items.length === 0) throw failure(`no objects passed to ${verb}`);
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
