import { Command } from 'commander';
import { type FieldFacts, type FieldTable, type FieldType, supported } from '#kube/fields/field-facts.js';
import { POD_TABLES } from '#kube/pod/pod-fields.js';
import { WORKLOAD_TABLES } from '#kube/workloads/workload-fields.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import { findResourceType, RESOURCE_TYPES } from '../../shared/api/resource-type.js';
import { layOutTable } from '../../shared/print/tab-columns.js';

interface ExplainFlags {
  readonly recursive: boolean;
}

const HELP = `
It shows the fields that a manifest may have, their types and defaults, and what podloop does with each. What a field means in full is in Kubernetes'
own reference. No agent has to run.

Examples:
  # The kinds of objects
  podloop explain

  # The fields of a Pod
  podloop explain pod

  # Those of its containers
  podloop explain pod.spec.containers

  # All fields of a Deployment
  podloop explain deployment --recursive`;

const TEMPLATE = { kind: 'object', name: 'PodTemplate' } as const;

const CONFIG_META = supported('ObjectMeta', { required: true });
const OBJECT = {
  apiVersion: supported('string', { required: true }),
  kind: supported('string', { required: true }),
};
const DATA = { metadata: CONFIG_META, immutable: supported('boolean') };

/** Tables that are not of pods and workloads. */
const OWN_TABLES: Readonly<Record<string, FieldTable>> = {
  PodTemplate: { metadata: supported('ObjectMeta'), spec: supported('PodSpec', { required: true }) },
  ConfigMap: {
    ...OBJECT,
    ...DATA,
    data: supported('map[string]string'),
    binaryData: supported('map[string]string'),
  },
  Secret: {
    ...{
      ...OBJECT,
      ...DATA,
      data: supported('map[string]string'),
      stringData: supported('map[string]string'),
    },
    type: supported('string', { default: 'Opaque' }),
  },
};

/** No two have a name in common. */
const TABLES: Readonly<Record<string, FieldTable>> = { ...WORKLOAD_TABLES, ...POD_TABLES, ...OWN_TABLES };

/** What the fields are for that are needed most; by type and name. */
const MEANINGS: Readonly<Record<string, string>> = {
  'ConfigMap.data': 'Texts by their keys, for variables and files of pods.',
  'Container.args': 'Arguments of the program, instead of the image’s.',
  'Container.command': 'The program with its first arguments, instead of the image’s; no shell reads it.',
  'Container.env': 'Variables of the environment, by name; later ones may refer to earlier ones as $(NAME).',
  'Container.envFrom': 'ConfigMaps and Secrets each of whose keys becomes a variable.',
  'Container.image': 'The image that the container is made of.',
  'Container.imagePullPolicy': 'When the image is fetched: each time, if it is not there, or never.',
  'Container.lifecycle': 'What to do after the start and before the end.',
  'Container.livenessProbe': 'How to find out that the container has to be restarted.',
  'Container.ports': 'Ports that the container listens at; hostPort opens one on the machine as well.',
  'Container.readinessProbe': 'How to find out whether the container can do its work.',
  'Container.resources': 'How much CPU and memory it gets at least (requests) and at most (limits).',
  'Container.startupProbe': 'How to find out that the container has started; other probes wait for it.',
  'Container.volumeMounts': 'Where the volumes of the pod are in the file system of the container.',
  'CronJobSpec.schedule': 'When a Job is made: minute, hour, day of the month, month, day of the week.',
  'Deployment.spec': 'Which pods there are to be, how many, and how they are replaced.',
  'DeploymentSpec.replicas': 'How many pods there are to be.',
  'DeploymentSpec.selector':
    'Labels by which the workload knows its pods; those of the template have to match.',
  'DeploymentSpec.strategy': 'How pods are replaced after an edit.',
  'DeploymentSpec.template': 'What each pod is made of.',
  'JobSpec.backoffLimit': 'How many pods may fail before the Job has failed.',
  'JobSpec.completions': 'How many pods have to succeed.',
  'JobSpec.parallelism': 'How many pods may run at a time.',
  'ObjectMeta.annotations': 'Notes for programs, by name.',
  'ObjectMeta.labels': 'Marks by which selectors choose objects.',
  'ObjectMeta.name': 'The name; of its kind there is one of that name in a namespace.',
  'ObjectMeta.namespace': 'The namespace that the object is in.',
  'Pod.spec': 'What runs: containers, their volumes, and how they share the machine.',
  'PodSpec.containers': 'What runs side by side in the pod, at least one.',
  'PodSpec.hostNetwork': 'Whether the pod has the network of the machine instead of its own.',
  'PodSpec.initContainers': 'What runs one after the other before the containers start.',
  'PodSpec.restartPolicy': 'When containers that end are started again.',
  'PodSpec.securityContext': 'The user, groups and rights of all containers.',
  'PodSpec.terminationGracePeriodSeconds': 'How long containers get to end by themselves.',
  'PodSpec.volumes': 'Folders and files for the containers, which say where they mount them.',
  'StatefulSetSpec.volumeClaimTemplates': 'Claims that each pod gets one of, and keeps.',
};

/** `podloop explain`: the fields of a kind of object. */
export function explainCommand(host: CliHost): Command {
  return new Command('explain')
    .description('Show the fields that manifests may have, and what podloop does with them.')
    .argument(
      '[field]',
      'Kind, and fields behind it, as in "pod.spec.containers" (default: a list of the kinds)',
    )
    .option('--recursive', 'All fields below as well', false)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (path: string | undefined, { recursive }: ExplainFlags) => {
      const lines = path === undefined ? listKinds() : explain(path, recursive);
      for (const line of lines) await host.stdout.writeLine(line);
    });
}

/** The kinds that manifests may have, as kubectl lists those of a cluster. */
export function listKinds(): string[] {
  const kinds = RESOURCE_TYPES.filter(({ kind }) => TABLES[kind] !== undefined);
  return layOutTable([
    ['NAME', 'SHORTNAMES', 'APIVERSION', 'KIND'],
    ...kinds.map(({ plural, aliases, apiVersion = 'v1', kind }) => [
      plural,
      aliases.join(),
      apiVersion,
      kind,
    ]),
  ]);
}

/** The lines about a kind, or a field of it. Throws a CommandFailure for one that there is not. */
export function explain(path: string, isRecursive: boolean): string[] {
  const [word = '', ...fields] = path.split('.');
  const { kind, apiVersion = 'v1' } = findResourceType(word);
  let table = TABLES[kind];
  if (table === undefined) throw failure(`manifests have no ${kind}s; there is nothing to explain`);
  let [found, owner, type]: [FieldFacts | undefined, string, FieldType] = [
    undefined,
    '',
    { kind: 'object', name: kind },
  ];
  for (const [index, name] of fields.entries()) {
    owner = nameOf(type);
    found = table?.[name];
    if (found === undefined) {
      const known = Object.keys(table ?? {});
      const said = known.length === 0 ? 'it has no fields' : `there are ${known.join(', ')}`;
      throw failure(
        `field "${name}" does not exist in ${[word, ...fields.slice(0, index)].join('.')}: ${said}`,
      );
    }
    type = typeOf(name, found);
    table = TABLES[nameOf(type)];
  }
  const [group, version = group] = apiVersion.split('/');
  const name = fields.at(-1);
  const meaning = describe(owner, name, found);
  return [
    ...(version === group ? [] : [`GROUP:      ${group}`]),
    `KIND:       ${kind}`,
    `VERSION:    ${version}`,
    '',
    ...(name === undefined ? [] : [`FIELD: ${name} <${typeText(type)}>`, '']),
    ...(meaning.length === 0 ? [] : ['DESCRIPTION:', ...meaning.map((line) => `    ${line}`), '']),
    ...(table === undefined
      ? []
      : ['FIELDS:', ...listFields(table, { isRecursive, within: [nameOf(type)] })]),
  ];
}

interface Listing {
  readonly isRecursive: boolean;
  /** Names of the types around: one that is in itself is not listed again. */
  readonly within: readonly string[];
}

function listFields(table: FieldTable, { isRecursive, within }: Listing): string[] {
  const indent = '  '.repeat(within.length);
  return Object.entries(table)
    .filter(([, { support }]) => support !== 'ignored' || !isRecursive)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([name, facts]) => {
      const type = typeOf(name, facts);
      const below = TABLES[nameOf(type)];
      const line = `${indent}${name}\t<${typeText(type)}>${facts.required ? ' -required-' : ''}${remark(facts)}`;
      const more = isRecursive
        ? []
        : describe(within.at(-1)!, name, facts).map((text) => `${indent}    ${text}`);
      if (!isRecursive || below === undefined || within.includes(nameOf(type))) return [line, ...more];
      return [line, ...listFields(below, { isRecursive, within: [...within, nameOf(type)] })];
    });
}

function remark({ support, default: usual }: FieldFacts): string {
  const word = { supported: '', planned: ' -not yet-', refused: ' -refused-', ignored: ' -ignored-' }[
    support
  ];
  return `${word}${usual === undefined ? '' : ` (default: ${String(usual)})`}`;
}

/** Meaning, values, and what podloop does instead. */
function describe(owner: string, name: string | undefined, facts: FieldFacts | undefined): string[] {
  const meaning = name === undefined ? undefined : MEANINGS[`${owner}.${name}`];
  const { type, support = 'supported', note = '', only = [] } = facts ?? {};
  const words = type?.kind === 'enum' ? type.words : only.map(String);
  const why = { supported: '', planned: 'Not supported yet', refused: 'Refused', ignored: 'Without effect' }[
    support
  ];
  return [
    ...(meaning === undefined ? [] : [meaning]),
    ...(words.length === 0 ? [] : [`Values: ${words.map((word) => (word === '' ? '""' : word)).join(', ')}`]),
    ...(why === '' ? [] : [`${why}${note === '' ? '' : `: ${note}`}.`]),
  ];
}

/** Templates of pods are read by the tables of pods, and stand in those of workloads as anything. */
function typeOf(name: string, { type }: FieldFacts): FieldType {
  return name === 'template' && type.kind === 'any' ? TEMPLATE : type;
}

function nameOf(type: FieldType): string {
  if (type.kind === 'list' || type.kind === 'map') return nameOf(type.of);
  return type.kind === 'object' ? type.name : '';
}

function typeText(type: FieldType): string {
  if (type.kind === 'list') return `[]${typeText(type.of)}`;
  if (type.kind === 'map') return `map[string]${typeText(type.of)}`;
  if (type.kind === 'object') return type.name;
  return type.kind === 'enum' ? 'string' : type.kind;
}
