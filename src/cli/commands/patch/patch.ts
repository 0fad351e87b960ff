import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { messageOf } from '#base/errors/errors.js';
import { parseYamlDocuments } from '#base/text/yaml/yaml-document.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import { addSessionFlags, type SessionFlags, stripEquals, withAgent } from '../../shared/agent-session.js';
import { changeObjects, PATCH_TYPES, selectObjects } from '../../shared/api/change-objects.js';
import { type DryRun, dryRunOption } from '../../shared/dry-run.js';

interface PatchFlags extends SessionFlags {
  readonly patch?: string;
  readonly patchFile?: string;
  readonly type: keyof typeof PATCH_TYPES;
  readonly dryRun: DryRun;
}

const HELP = `
The manifest of the object becomes what the object is with the patch, so the object has to be in the folder of the agent. Only how many replicas a workload has
is set beside its manifest, as by "podloop scale".

A patch of the type strategic names fields, and items of lists such as containers by their names; one of the type merge replaces whole lists; one of the
type json is a list of operations. It is written in JSON or YAML.

Examples:
  # Another image for one container of a Deployment
  podloop patch deploy/web -p '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"web:2"}]}}}}'

  # An operation at a path
  podloop patch deploy web --type=json -p '[{"op":"replace","path":"/spec/minReadySeconds","value":5}]'

  # From a file, without keeping anything
  podloop patch cronjob nightly --patch-file suspend.yaml --dry-run=server`;

/** `podloop patch`: changes some fields of objects. */
export function patchCommand(host: CliHost): Command {
  const command = new Command('patch')
    .description('Change some fields of an object of a running agent.')
    .argument('[what...]', 'Kind and names, as in "deploy/web" or "configmap settings"');
  return addSessionFlags(command)
    .addOption(new Option('-p, --patch <text>', 'The patch').argParser(stripEquals))
    .addOption(
      new Option('--patch-file <file>', 'File with the patch; - for standard input').argParser(stripEquals),
    )
    .addOption(
      new Option('--type <type>', 'How the patch is meant')
        .choices(Object.keys(PATCH_TYPES))
        .default('strategic'),
    )
    .addOption(dryRunOption('Only check it'))
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: PatchFlags) => {
      const body = await readPatch(flags, host);
      await withAgent(host, flags, async (session) => {
        const objects = await selectObjects(words, { all: false }, session, 'patch');
        const { type, dryRun } = flags;
        const patch = { type, body, done: 'patched', undone: 'patched (no change)' };
        await changeObjects(objects, { session, host, dryRun, makePatch: () => patch });
      });
    });
}

async function readPatch({ patch, patchFile, type }: PatchFlags, { stdin }: CliHost): Promise<unknown> {
  if ((patch === undefined) === (patchFile === undefined))
    throw failure('must specify --patch or --patch-file containing the contents of the patch');
  const written = patch ?? (patchFile === '-' ? await text(stdin) : await readText(patchFile!));
  const [document, ...others] = parseYamlDocuments(written);
  const [problem] = document?.problems ?? [];
  if (problem !== undefined)
    throw failure(`the patch, line ${problem.place.line}, column ${problem.place.column}: ${problem.plain}`);
  const value = document?.value;
  const isList = Array.isArray(value);
  if (others.length > 0 || typeof value !== 'object' || value === null || isList !== (type === 'json')) {
    throw failure(
      type === 'json'
        ? 'a patch of the type json is a list of operations, as in [{"op":"remove","path":"/spec/x"}]'
        : isList
          ? 'the patch is a list: --type=json takes one'
          : 'the patch must be one object, as in {"spec":{"replicas":2}}',
    );
  }
  return value;
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw failure(messageOf(error));
  });
}
