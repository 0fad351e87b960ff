import { Command } from 'commander';
import { type FieldFacts, type FieldTable, type FieldType, supported } from '#kube/fields/field-facts.js';
import { findSimilarWord } from '#base/text/similar-word.js';
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

/** What each kind is for. */
const KINDS: Readonly<Record<string, string>> = {
  ConfigMap: 'Texts for variables and files of pods.',
  CronJob: 'Makes a Job whenever its schedule says so.',
  DaemonSet: 'Keeps one pod on each node: here that is one.',
  Deployment: 'Keeps a number of equal pods and replaces them one by one after an edit.',
  Job: 'Runs pods until as many as it wants have succeeded.',
  Namespace: 'A place for names; it exists as soon as something is in it.',
  PersistentVolumeClaim: 'A volume of its own on this node, which outlives pods and agents.',
  Pod: 'Containers that run together on one machine, with one network and common volumes.',
  ReplicaSet: 'Keeps a number of equal pods.',
  ReplicationController: 'Keeps a number of equal pods; the older form of a ReplicaSet.',
  Secret: 'What pods may know and nobody is shown, for variables, files and registries.',
  Service: 'A name and ports that lead to those pods which are ready.',
  ServiceAccount: 'An identity towards an API server; without one only its name counts.',
  StatefulSet: 'Keeps pods with fixed names, one after the other, each with claims of its own.',
};

/** Of every kind. */
const OF_KINDS: Readonly<Record<string, string>> = {
  apiVersion: 'The version of the kind.',
  kind: 'What it is.',
  metadata: 'Name, namespace, labels and annotations.',
};
/** Of the spec of each kind that makes pods. */
const OF_MAKERS: Readonly<Record<string, string>> = {
  minReadySeconds: 'How long a pod has to be ready until it counts.',
  replicas: 'How many pods there are to be.',
  selector: 'Labels by which the workload knows its pods; those of the template have to match.',
  template: 'What each pod is made of.',
};
const MAKER = /^(?:Deployment|ReplicaSet|ReplicationController|StatefulSet|DaemonSet|Job)Spec$/;

/** What the fields are for that are needed most; by type and name. */
const MEANINGS: Readonly<Record<string, string>> = {
  'ClaimResources.requests':
    'How large the volume is to be (storage); enforced where the file system has project quotas.',
  'ClaimSpec.accessModes': 'Who may mount it at a time; on one node all may.',
  'ClaimSpec.resources': 'How large the volume is to be.',
  'ClaimTemplate.spec': 'What volume each pod gets.',
  'CronJob.spec': 'When Jobs are made, and what they are like.',
  'CronJobSpec.concurrencyPolicy':
    'What happens while the last Job still runs: another one beside it, none, or one in its place.',
  'CronJobSpec.failedJobsHistoryLimit': 'How many Jobs that have failed stay.',
  'CronJobSpec.jobTemplate': 'What each Job is made of.',
  'CronJobSpec.startingDeadlineSeconds': 'How late a Job may be made whose time was missed.',
  'CronJobSpec.successfulJobsHistoryLimit': 'How many Jobs that have succeeded stay.',
  'CronJobSpec.suspend': 'Whether no more Jobs are made for the present.',
  'CronJobSpec.timeZone': 'The time zone of the schedule, as in Europe/Berlin.',
  'DaemonSet.spec': 'Which pod there is to be, and how it is replaced.',
  'DaemonSetSpec.updateStrategy': 'How pods are replaced after an edit.',
  'DeploymentSpec.paused': 'Whether edits of the template have no effect for the present.',
  'DeploymentSpec.revisionHistoryLimit': 'How many earlier ReplicaSets stay.',
  'Job.spec': 'How many pods have to succeed, and when the Job has failed.',
  'JobSpec.activeDeadlineSeconds': 'How long the Job may take until it has failed.',
  'JobSpec.backoffLimitPerIndex': 'How often pods of one index may fail until that index has failed.',
  'JobSpec.completionMode': 'Whether each pod has an index of its own (Indexed).',
  'JobSpec.managedBy': 'Who runs the Job.',
  'JobSpec.maxFailedIndexes': 'How many indexes may fail until the Job has failed.',
  'JobSpec.podFailurePolicy': 'Which failed pods end the Job, count, or do not.',
  'JobSpec.podReplacementPolicy': 'When a pod is replaced: as soon as it ends, or once it has failed.',
  'JobSpec.successPolicy': 'Which indexes have to succeed until the Job has succeeded (default: all).',
  'JobSpec.suspend': 'Whether no pods are made for the present.',
  'JobSpec.ttlSecondsAfterFinished': 'After how long a finished Job is removed with its pods.',
  'JobTemplate.spec': 'What each Job is like.',
  'PersistentVolumeClaim.spec': 'How large the volume is to be, and who may mount it.',
  'ReplicaSet.spec': 'Which pods there are to be, and how many.',
  'ReplicationController.spec': 'Which pods there are to be, and how many.',
  'SecurityContext.procMount':
    'Whether parts of /proc are hidden and read-only; Unmasked only in a pod with hostUsers: false.',
  'Service.spec': 'Which pods it leads to, and at which ports.',
  'ServicePort.name': 'The name of the port, for a Service that has several.',
  'ServicePort.nodePort': 'The port of the machine that leads to it, of type NodePort.',
  'ServicePort.port': 'The port of the Service.',
  'ServicePort.protocol': 'What is spoken at the port.',
  'ServicePort.targetPort': 'The port of the pods, by number or name (default: the same as port).',
  'ServiceSpec.clusterIP': 'Its address; None has its name lead to the pods themselves.',
  'ServiceSpec.externalName': 'The name that it stands for, of type ExternalName.',
  'ServiceSpec.ports': 'The ports that it has.',
  'ServiceSpec.publishNotReadyAddresses': 'Whether it leads to pods that are not ready, too.',
  'ServiceSpec.selector': 'Labels of the pods that it leads to.',
  'ServiceSpec.sessionAffinity': 'Whether a client stays with one pod.',
  'ServiceSpec.type':
    'Who reaches it: pods (ClusterIP), or others at the ports of the machine as well (NodePort).',
  'StatefulSet.spec': 'Which pods there are to be, how many, and which claims they get.',
  'StatefulSetSpec.ordinals': 'The number of the first pod.',
  'StatefulSetSpec.persistentVolumeClaimRetentionPolicy': 'What becomes of claims.',
  'StatefulSetSpec.podManagementPolicy': 'Whether pods start one after the other or together.',
  'StatefulSetSpec.serviceName': 'The Service by which the pods have names of their own.',
  'StatefulSetSpec.updateStrategy': 'How pods are replaced after an edit.',
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
  'DeploymentSpec.strategy': 'How pods are replaced after an edit.',
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
  'PodSpec.hostUsers':
    'Whether root and the other users of its containers are those of the machine; false needs a runtime with user namespaces, such as containerd 2.',
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
      const meant = findSimilarWord(name, known);
      const guess = meant === undefined ? 'there are' : `did you mean ${meant}? There are`;
      const said = known.length === 0 ? 'it has no fields' : `${guess} ${known.join(', ')}`;
      throw failure(
        `field "${name}" does not exist in ${[word, ...fields.slice(0, index)].join('.')}: ${said}`,
      );
    }
    type = typeOf(name, found);
    table = TABLES[nameOf(type)];
  }
  const [group, version = group] = apiVersion.split('/');
  const name = fields.at(-1);
  const meaning = name === undefined ? [KINDS[kind]!] : describe(owner, name, found);
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

function findMeaning(owner: string, name: string): string | undefined {
  const common = owner in KINDS ? OF_KINDS : MAKER.test(owner) ? OF_MAKERS : {};
  return MEANINGS[`${owner}.${name}`] ?? common[name];
}

/** Meaning, values, and what podloop does instead. */
function describe(owner: string, name: string | undefined, facts: FieldFacts | undefined): string[] {
  const meaning = name === undefined ? undefined : findMeaning(owner, name);
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
