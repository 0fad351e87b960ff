import { Command } from 'commander';
import { isRecord } from '#base/text/is-record.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import { addSessionFlags, type SessionFlags, stripEquals, withAgent } from '../../shared/agent-session.js';
import { changeObjects, type ObjectPatch, selectObjects } from '../../shared/api/change-objects.js';
import { hasPodTemplate, PODS } from '../../shared/api/resource-type.js';
import { type DryRun, dryRunOption } from '../../shared/dry-run.js';
import { selectorOption } from '../../shared/selector-option.js';
import { readAssignments } from './read-assignments.js';

interface SetFlags extends SessionFlags {
  readonly all: boolean;
  readonly selector?: string;
  readonly containers: string;
  readonly dryRun: DryRun;
}

const HELP = `
The manifest of the object gets it, so the object has to be in the folder of the agent; the pods of a workload are replaced as after every edit.

Examples:
  # The image of one container, and wait for the new pods
  podloop set image deploy/web main=web:2
  podloop rollout status deploy/web

  # The image of all containers
  podloop set image cronjob/nightly '*=batch:7'

  # A variable, and one less
  podloop set env deploy/web MODE=fast DEBUG-`;

const ALL = '*';

/** `podloop set`: images and variables of containers. */
export function setCommand(host: CliHost): Command {
  const command = new Command('set')
    .description('Set the images or variables of containers of a running agent.')
    .argument('<what>', 'image or env')
    .argument('[words...]', 'Kind and names, as in "deploy/web", and CONTAINER=IMAGE, NAME=VALUE or NAME-');
  return addSessionFlags(command)
    .option('--all', 'All objects of the kinds', false)
    .addOption(selectorOption())
    .option('-c, --containers <name>', 'Container that gets the variables; * is for all', stripEquals, ALL)
    .addOption(dryRunOption('Only check it'))
    .addHelpText('after', wrapNotes(HELP))
    .action(async (what: string, words: string[], flags: SetFlags) => {
      if (what !== 'image' && what !== 'env')
        throw failure(
          `there is no "set ${what}", only image and env; podloop patch or podloop edit changes all else`,
        );
      const { objects, values } = readAssignments(words);
      if (values.size === 0)
        throw failure(
          what === 'image' ? 'name an image, as in main=web:2' : 'name a variable, as in MODE=fast or DEBUG-',
        );
      await withAgent(host, flags, async (session) => {
        const chosen = await selectObjects(objects, flags, session, `set ${what}`);
        const wrong = chosen.find(({ type }) => type !== PODS && !hasPodTemplate(type));
        if (wrong !== undefined) throw failure(`${wrong.type.plural} have no containers`);
        await changeObjects(chosen, {
          ...{ session, host, dryRun: flags.dryRun },
          makePatch: async ({ type }, path) => {
            const object = await session.client.get(path);
            const place = placeOfPod(type.kind);
            const containers = containersAt(object, place);
            const changes =
              what === 'image' ? toImages(containers, values) : toVariables(containers, values, flags);
            return { ...toPatch(place, changes), done: `${what} updated`, undone: `${what} not changed` };
          },
        });
      });
    });
}

type ContainerLists = Readonly<Record<'containers' | 'initContainers', readonly string[]>>;
type Change = (name: string) => object | undefined;

/** Where in an object of a kind the spec of its pods is. */
function placeOfPod(kind: string): readonly string[] {
  if (kind === 'Pod') return ['spec'];
  const template = ['spec', 'template', 'spec'];
  return kind === 'CronJob' ? ['spec', 'jobTemplate', ...template] : template;
}

/** The names of the containers at a place. */
function containersAt(object: object, place: readonly string[]): ContainerLists {
  let at: unknown = object;
  for (const field of place) at = isRecord(at) ? at[field] : undefined;
  const spec = isRecord(at) ? at : {};
  const namesOf = (list: unknown): string[] =>
    Array.isArray(list) ? list.filter(isRecord).map(({ name }) => String(name)) : [];
  return { containers: namesOf(spec['containers']), initContainers: namesOf(spec['initContainers']) };
}

interface ContainerChanges {
  readonly lists: ContainerLists;
  readonly change: Change;
}

function toImages(lists: ContainerLists, values: ReadonlyMap<string, string | null>): ContainerChanges {
  const known = [...lists.containers, ...lists.initContainers];
  for (const [name, image] of values) {
    if (image === null || image === '') throw failure(`${name} needs an image, as in ${name}=web:2`);
    if (name !== ALL && !known.includes(name)) throw unknownContainer(name, known);
  }
  const imageOf = (name: string): string | null | undefined => values.get(name) ?? values.get(ALL);
  return { lists, change: (name) => (imageOf(name) ? { image: imageOf(name) } : undefined) };
}

function toVariables(
  lists: ContainerLists,
  values: ReadonlyMap<string, string | null>,
  { containers }: SetFlags,
): ContainerChanges {
  if (containers !== ALL && !lists.containers.includes(containers))
    throw unknownContainer(containers, lists.containers);
  const env = [...values].map(([name, value]) =>
    value === null ? { name, $patch: 'delete' } : { name, value, valueFrom: null },
  );
  const isMeant = (name: string): boolean =>
    lists.containers.includes(name) && (containers === ALL || name === containers);
  return { lists, change: (name) => (isMeant(name) ? { env } : undefined) };
}

function unknownContainer(name: string, known: readonly string[]): Error {
  return failure(`unable to find container named ${JSON.stringify(name)}; there are ${known.join(', ')}`);
}

function toPatch(
  place: readonly string[],
  { lists, change }: ContainerChanges,
): Pick<ObjectPatch, 'type' | 'body'> {
  const spec = Object.fromEntries(
    Object.entries(lists).flatMap(([field, names]) => {
      const items = names.flatMap((name) => {
        const fields = change(name);
        return fields === undefined ? [] : [{ name, ...fields }];
      });
      return items.length === 0 ? [] : [[field, items] as const];
    }),
  );
  const body = place.reduceRight<object>((inner, field) => ({ [field]: inner }), spec);
  return { type: 'strategic', body };
}
