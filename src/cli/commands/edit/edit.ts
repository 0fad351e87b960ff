import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { messageOf } from '#base/errors/errors.js';
import { parseYamlDocuments } from '#base/text/yaml/yaml-document.js';
import { isRecord } from '#base/text/is-record.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { wrapNotes } from '../../help-layout.js';
import {
  addSessionFlags,
  type AgentSession,
  type SessionFlags,
  withAgent,
} from '../../shared/agent-session.js';
import { ApiError } from '../../shared/api/api-status.js';
import { type NamedObject, readSelection } from '../../shared/api/object-selection.js';
import { pathOf, qualifiedName } from '../../shared/api/resource-type.js';
import { toManifestForm, withoutDebugContainers } from '../../shared/print/manifest-form.js';
import { mergeEdit } from './merge-edit.js';
import { toJsonText, toYamlText } from '../../shared/print/object-text.js';

interface EditFlags extends SessionFlags {
  readonly output: 'yaml' | 'json';
}

const HELP = `
The object comes as its manifest has it, with defaults. What is saved becomes the manifest in the folder of the agent: its file, or its document in a YAML file
with several. What the agent refuses stands on top when the editor opens again; to give up, change nothing or leave an empty file.
What others change meanwhile stays, except in the fields that were edited.

The editor is the one of KUBE_EDITOR, else of EDITOR, else vi.

Examples:
  # Edit a Deployment
  podloop edit deploy/web

  # With another editor
  KUBE_EDITOR="nano" podloop edit configmap settings`;

/** `podloop edit`: changes objects in an editor. */
export function editCommand(host: CliHost): Command {
  const command = new Command('edit')
    .description('Edit objects of a running agent with an editor.')
    .argument('[what...]', 'Kind and names, as in "deploy/web" or "configmap settings"');
  return addSessionFlags(command)
    .addOption(
      new Option('-o, --output <format>', 'Language of the text').choices(['yaml', 'json']).default('yaml'),
    )
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: EditFlags) =>
      withAgent(host, flags, async (session) => {
        const { names } = readSelection(words, { hasSelector: false, allNamespaces: false }, 'edit');
        if (names.length === 0) throw failure('name an object, as in "podloop edit deploy/web"');
        for (const named of names) await edit(named, flags, session, host);
      }),
    );
}

async function edit(
  { type, name }: NamedObject,
  { output }: EditFlags,
  session: AgentSession,
  host: CliHost,
): Promise<void> {
  if (type.kind === 'Secret')
    throw failure('Secrets cannot be read, and so not edited; podloop apply -f FILE changes one');
  const path = pathOf(type, session.namespace, name);
  const read = async (): Promise<KubeObject> => {
    const found = await session.client.get(path);
    return toManifestForm({ apiVersion: type.apiVersion ?? 'v1', kind: type.kind, ...found });
  };
  const shown = await read();
  // A pod is listed under a name that its manifest does not have.
  const manifestPath = pathOf(type, session.namespace, shown.metadata?.name ?? name);
  const bare = withoutDebugContainers(shown);
  // What cannot be changed here is said before anybody has edited it.
  const { result } = await session.client.send('PUT', manifestPath, {
    query: { dryRun: 'All' },
    body: bare,
  });
  // In the rare case that the manifest itself has them, they stay.
  const hasThem = result === 'configured';
  const object = hasThem ? shown : bare;
  const merge = async (edited: object): Promise<unknown> => {
    const now = await read();
    return mergeEdit(object, edited, hasThem ? now : withoutDebugContainers(now));
  };
  const text = `${output === 'json' ? toJsonText(object) : toYamlText(object)}\n`;
  const folder = await mkdtemp(join(tmpdir(), 'podloop-edit-'));
  const file = join(folder, `${type.singular}-${name}.${output}`);
  let isLeft = false;
  try {
    let [before, faults]: [string, readonly string[]] = [text, []];
    for (;;) {
      await writeFile(file, `${headOf(faults)}${before}`, { mode: 0o600 });
      await runEditor(file, host, session.signal);
      const after = withoutComments(await readFile(file, 'utf8'));
      if (after.trim() === '' || after === before) {
        if (faults.length === 0) {
          await host.stderr.writeLine('Edit cancelled, no changes made.');
          return;
        }
        isLeft = after.trim() !== '';
        throw new CommandFailure(faults.map((line) => line.replace(/^(?!error|Error|The )/, 'error: ')));
      }
      before = after;
      isLeft = true;
      const problem = await save(after, manifestPath, merge, session);
      if (problem === undefined) {
        isLeft = false;
        await host.stdout.writeLine(`${qualifiedName(type)}/${name} edited`);
        return;
      }
      faults = problem;
    }
  } catch (error) {
    if (!isLeft) throw error;
    const lines = error instanceof CommandFailure ? error.lines : [`error: ${messageOf(error)}`];
    throw new CommandFailure([...lines, `What was edited is in ${file}`]);
  } finally {
    if (!isLeft) await rm(folder, { recursive: true, force: true });
  }
}

/** Resolves with what is wrong, in lines; undefined when it is saved. */
async function save(
  text: string,
  path: string,
  merge: (edited: object) => Promise<unknown>,
  { client }: AgentSession,
): Promise<readonly string[] | undefined> {
  const documents = parseYamlDocuments(text);
  const [document] = documents;
  const problem = documents.flatMap(({ problems }) => problems)[0];
  if (problem !== undefined)
    return [`line ${problem.place.line}, column ${problem.place.column}: ${problem.plain}`];
  if (documents.length !== 1 || !isRecord(document?.value))
    return ['this is not one object with apiVersion and kind'];
  try {
    await client.send('PUT', path, { body: await merge(document.value) });
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.lines;
  }
}

function headOf(faults: readonly string[]): string {
  const words = [
    'What is saved here becomes the manifest. Lines that begin with "#" do not count;',
    'an empty file, or one without a change, leaves everything as it is.',
    ...(faults.length === 0 ? [] : ['', 'It was not saved:', ...faults]),
  ];
  return `${words.map((line) => `# ${line}`.trimEnd()).join('\n')}\n#\n`;
}

/** The lines in front that are comments: those of the object itself stay. */
function withoutComments(text: string): string {
  const lines = text.split('\n');
  const from = lines.findIndex((line) => !line.startsWith('#'));
  return from < 0 ? '' : lines.slice(from).join('\n');
}

async function runEditor(file: string, { env }: CliHost, signal: AbortSignal): Promise<void> {
  const first = (names: readonly string[]): string | undefined =>
    names.map((name) => env[name]).find((value) => value !== undefined && value.trim() !== '');
  const editor = first(['KUBE_EDITOR', 'EDITOR']) ?? 'vi';
  // The words of the variable are a shell's, as with every program that starts an editor.
  const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit', env, signal });
  const [code] = (await once(child, 'exit').catch((error: unknown) => {
    throw failure(`the editor cannot be run: ${messageOf(error)}`);
  })) as [number | null];
  if (code !== 0)
    throw failure(
      `the editor "${editor}" ended with ${code ?? 'a signal'}, nothing was changed; KUBE_EDITOR or EDITOR name another one`,
    );
}
