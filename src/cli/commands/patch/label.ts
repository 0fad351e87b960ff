import { Command, Option } from 'commander';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import {
  addSessionFlags,
  type AgentSession,
  type SessionFlags,
  withAgent,
} from '../../shared/agent-session.js';
import { changeObjects, type ObjectPatch, selectObjects } from '../../shared/api/change-objects.js';
import { type NamedObject } from '../../shared/api/object-selection.js';
import { type DryRun, dryRunOption } from '../../shared/dry-run.js';
import { selectorOption } from '../../shared/selector-option.js';
import { readAssignments } from './read-assignments.js';

interface LabelFlags extends SessionFlags {
  readonly all: boolean;
  readonly selector?: string;
  readonly overwrite: boolean;
  readonly dryRun: DryRun;
}

/** The two commands that change pairs of an object's metadata. */
const KINDS = {
  label: {
    field: 'labels',
    description: 'Set or remove labels of objects of a running agent.',
    done: 'labeled',
    removed: 'unlabeled',
  },
  annotate: {
    field: 'annotations',
    description: 'Set or remove annotations of objects of a running agent.',
    done: 'annotated',
    removed: 'annotated',
  },
} as const;

const HELP = (name: keyof typeof KINDS): string => `
The manifest of the object gets them, so the object has to be in the folder of the agent. A pod of a workload has those of the workload's template:
podloop edit changes that.

Examples:
  # Set one
  podloop ${name} deploy/web tier=front

  # Another value for one that is there
  podloop ${name} deploy web tier=back --overwrite

  # Remove one from all Deployments
  podloop ${name} deployments --all tier-`;

/** `podloop label` and `podloop annotate`. */
export function metadataCommand(name: keyof typeof KINDS, host: CliHost): Command {
  const { description } = KINDS[name];
  const command = new Command(name)
    .description(description)
    .argument('[what...]', 'Kind and names, as in "deploy/web", and KEY=VALUE or KEY- for each');
  return addSessionFlags(command)
    .option('--all', 'All objects of the kinds', false)
    .addOption(selectorOption())
    .addOption(new Option('--overwrite', 'Replace values that are there').default(false))
    .addOption(dryRunOption('Only check it'))
    .addHelpText('after', wrapNotes(HELP(name)))
    .action(async (words: string[], flags: LabelFlags) => {
      const { objects, values } = readAssignments(words);
      if (values.size === 0)
        throw failure(
          `at least one ${name === 'label' ? 'label' : 'annotation'} update is required: KEY=VALUE or KEY-`,
        );
      await withAgent(host, flags, async (session) => {
        const chosen = await selectObjects(objects, flags, session, name);
        const makePatch = (object: NamedObject, path: string): Promise<ObjectPatch> =>
          toPatch(name, values, { object, path, session, overwrite: flags.overwrite });
        await changeObjects(chosen, { session, host, dryRun: flags.dryRun, makePatch });
      });
    });
}

interface PatchPlace {
  readonly object: NamedObject;
  readonly path: string;
  readonly session: AgentSession;
  readonly overwrite: boolean;
}

async function toPatch(
  name: keyof typeof KINDS,
  values: ReadonlyMap<string, string | null>,
  { object, path, session, overwrite }: PatchPlace,
): Promise<ObjectPatch> {
  const { field, done, removed } = KINDS[name];
  const { metadata } = (await session.client.get(path)) as KubeObject & {
    readonly metadata?: Readonly<Partial<Record<typeof field, Readonly<Record<string, string>>>>>;
  };
  const before = metadata?.[field] ?? {};
  for (const [key, value] of values) {
    const present = Object.hasOwn(before, key) ? before[key] : undefined;
    if (!overwrite && value !== null && present !== undefined && present !== value)
      throw failure(
        `${object.type.singular}/${object.name}: '${key}' already has a value (${present}), and --overwrite is false`,
      );
  }
  const isRemoval = [...values.values()].every((value) => value === null);
  const body = { metadata: { [field]: Object.fromEntries(values) } };
  return { type: 'merge', body, done: isRemoval ? removed : done, undone: `not ${done}` };
}
