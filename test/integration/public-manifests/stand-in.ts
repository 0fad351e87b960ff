import { isRecord } from '#base/text/is-record.js';
import { findPodTemplate } from '#kube/workloads/workload.js';
import { podReferences } from '#kube/pod/pod-references.js';
import { type Pod } from '#kube/pod/pod.js';
import { readManifests } from '../../../src/node/desired/manifests/manifest-reader.js';
import { isConfigObject } from '../../../src/node/desired/manifests/source-object.js';
import { PROGRAM_IMAGE } from '../program-image.js';
import { type PublicObject } from './collect-manifests.js';
import { type NodeStandIn } from './node-stand-in.js';

type Fields = Readonly<Record<string, unknown>>;

/** The label with the number of an object, on all pods that it has. */
export const CASE_LABEL = 'podloop-case';
/** What stands for every image: with the files of the host, mounts would leave their places there. */
const STAND_IN_IMAGE = PROGRAM_IMAGE;
/** The user of an image that is not to run as root. */
const IMAGE_USER = 1000;

const STAY = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 1; done'];
const END = ['sh', '-c', 'exit 0'];
/** Adds its first argument to the file of the second, and so on. */
const WRITE_LINES = ['sh', '-c', 'while [ $# -gt 1 ]; do echo "$1" >>"$2"; shift 2; done', 'sh'];
const MAX_PODS = 2;

/** An object that can run here, with what it refers to. */
export interface StandIn {
  readonly objects: readonly Fields[];
  /** How many pods are to run or to have ended; of a CronJob those of one Job. */
  readonly pods: number;
}

/**
 * Makes of an object one that runs without its images: in a namespace of its own, with other images and commands, probes and hooks that
 * succeed, no requests of resources, what it wants of its node from `node`, no scheduling gates, at most two pods (one where it
 * takes ports of the node), and a ConfigMap or Secret for each that it refers to. Everything else stays: volumes, security
 * contexts, host namespaces, ports, dependencies.
 *
 * Some of a CronJob is its Job.
 */
export async function toStandIn(
  { kind, value }: PublicObject,
  index: number,
  node: NodeStandIn,
): Promise<StandIn> {
  const name = `m${index}`;
  const given = fields(value['spec']);
  if (kind === 'Pod') {
    const metadata = { ...withLabel(fields(value['metadata']), index), name, namespace: name };
    const spec = await podSpec(given, {
      owner: name,
      ends: (given['restartPolicy'] ?? 'Always') !== 'Always',
      node,
    });
    const pod = { apiVersion: 'v1', kind, metadata, spec };
    return { objects: [pod, ...referredBy(pod)], pods: 1 };
  }
  const isCron = kind === 'CronJob';
  const own = isCron ? fields(fields(given['jobTemplate'])['spec']) : given;
  const template = fields(own['template']);
  const isJob = isCron || kind === 'Job';
  const counts = countsOf(kind, own, takesNodePorts(fields(template['spec'])) ? 1 : MAX_PODS);
  const spec = await podSpec(fields(template['spec']), { owner: name, ends: isJob, node });
  // A Job that is gone after its time has no pods that could be counted.
  const { ttlSecondsAfterFinished: _ttl, ...stays } = own;
  const { suspend: _suspend, ...runs } = stays;
  const object = {
    apiVersion: isJob ? 'batch/v1' : value['apiVersion'],
    kind: isCron ? 'Job' : kind,
    metadata: { name, namespace: name, labels: fields(value['metadata'])['labels'] },
    spec: {
      ...(isCron ? runs : stays),
      ...counts.fields,
      template: { metadata: withLabel(fields(template['metadata']), index), spec },
    },
  };
  return { objects: [object, ...referredBy(object)], pods: counts.pods };
}

function countsOf(
  kind: string,
  spec: Fields,
  most: number,
): { readonly fields: Fields; readonly pods: number } {
  const capped = (value: unknown, usual: number): number =>
    Math.min(most, typeof value === 'number' ? value : usual);
  if (kind === 'DaemonSet') return { fields: {}, pods: 1 };
  if (kind === 'Job' || kind === 'CronJob') {
    const { completions, parallelism } = spec;
    const pods = capped(completions, capped(parallelism, 1));
    if (spec['suspend'] === true && kind === 'Job') return { fields: {}, pods: 0 };
    // They say which indexes count and how many may fail, and one pod may end such a Job.
    if (spec['successPolicy'] !== undefined || spec['maxFailedIndexes'] !== undefined)
      return { fields: {}, pods: 1 };
    return {
      fields: {
        ...(completions === undefined ? {} : { completions: capped(completions, 1) }),
        ...(parallelism === undefined ? {} : { parallelism: Math.max(1, capped(parallelism, 1)) }),
      },
      pods,
    };
  }
  const replicas = capped(spec['replicas'], 1);
  return { fields: { replicas }, pods: spec['paused'] === true ? 0 : replicas };
}

/** A node has each of its ports once: a second pod would wait for another node. */
function takesNodePorts(spec: Fields): boolean {
  const ports = listOf(spec['containers']).flatMap((each) => listOf(each['ports']));
  return ports.some(({ hostPort }) => hostPort !== undefined || spec['hostNetwork'] === true);
}

async function podSpec(
  spec: Fields,
  { owner, ends, node }: { readonly owner: string; readonly ends: boolean; readonly node: NodeStandIn },
): Promise<Fields> {
  const { resources: _resources, schedulingGates: _gates, ...rest } = spec;
  const contexts = [spec, ...listOf(spec['containers']), ...listOf(spec['initContainers'])];
  for (const each of contexts) {
    const { type, localhostProfile } = fields(fields(each['securityContext'])['seccompProfile']);
    if (type === 'Localhost' && typeof localhostProfile === 'string')
      await node.addSeccompProfile(localhostProfile);
  }
  const ofPod = fields(spec['securityContext']);
  const containers = (list: unknown, command: (each: Fields) => readonly string[]): unknown =>
    Array.isArray(list) ? list.map((each) => container(fields(each), command(fields(each)), ofPod)) : list;
  return {
    ...rest,
    terminationGracePeriodSeconds: 0,
    containers: containers(spec['containers'], () => (ends ? END : STAY)),
    ...(spec['initContainers'] === undefined
      ? {}
      : { initContainers: containers(spec['initContainers'], (each) => endAfterFiles(each, spec)) }),
    ...(spec['volumes'] === undefined
      ? {}
      : {
          volumes: Array.isArray(spec['volumes'])
            ? await Promise.all(spec['volumes'].map((each) => volume(fields(each), { owner, spec, node })))
            : spec['volumes'],
        }),
  };
}

function container(given: Fields, command: readonly string[], ofPod: Fields): Fields {
  const { args: _args, workingDir: _dir, resources: _resources, lifecycle, ...rest } = given;
  const isSidecar = given['restartPolicy'] === 'Always';
  const probes = ['livenessProbe', 'readinessProbe', 'startupProbe'].flatMap((name): [string, Fields][] => {
    const { exec, httpGet, tcpSocket, grpc, ...times } = fields(given[name]);
    const isThere = [exec, httpGet, tcpSocket, grpc].some((each) => each !== undefined);
    return isThere ? [[name, { ...times, exec: { command: ['true'] } }]] : [];
  });
  const hooks = Object.keys(fields(lifecycle))
    .filter((name) => name !== 'stopSignal')
    .map((name): [string, Fields] => [name, { exec: { command: ['true'] } }]);
  const own = fields(given['securityContext']);
  const { runAsNonRoot, runAsUser } = { ...ofPod, ...own };
  const isImageUser = runAsNonRoot === true && runAsUser === undefined;
  return {
    ...rest,
    ...(isImageUser ? { securityContext: { ...own, runAsUser: IMAGE_USER } } : {}),
    ...Object.fromEntries(probes),
    ...(hooks.length === 0 ? {} : { lifecycle: Object.fromEntries(hooks) }),
    ...{ image: STAND_IN_IMAGE, imagePullPolicy: 'IfNotPresent', command: isSidecar ? STAY : command },
  };
}

/** The command of an init container, which writes the files that variables of containers come from. */
function endAfterFiles(init: Fields, spec: Fields): readonly string[] {
  const wanted = listOf(spec['containers'])
    .flatMap((each) => listOf(each['env']))
    .map((variable) => fields(fields(variable['valueFrom'])['fileKeyRef']));
  const lines = listOf(init['volumeMounts']).flatMap(({ name, mountPath }) =>
    wanted
      .filter(({ volumeName }) => volumeName === name)
      .flatMap(({ path, key }) => [`${String(key)}='x'`, `${String(mountPath)}/${String(path)}`]),
  );
  return lines.length === 0 ? END : [...WRITE_LINES, ...lines];
}

/** Sockets are there; devices are what the machine has or has not. */
async function volume(
  given: Fields,
  { owner, spec, node }: { readonly owner: string; readonly spec: Fields; readonly node: NodeStandIn },
): Promise<Fields> {
  const { hostPath, image, name } = given;
  if (isRecord(image)) {
    const mounts = listOf(spec['containers']).flatMap((each) => listOf(each['volumeMounts']));
    const folders = mounts.filter((each) => each['name'] === name).map(({ subPath }) => subPath);
    const reference = await node.addImage(folders.filter((each) => typeof each === 'string'));
    return { ...given, image: { ...image, reference, pullPolicy: 'IfNotPresent' } };
  }
  if (!isRecord(hostPath) || typeof hostPath['path'] !== 'string') return given;
  const type = typeof hostPath['type'] === 'string' ? hostPath['type'] : '';
  if (/^(?:CharDevice|BlockDevice)$/.test(type)) return given;
  return { ...given, hostPath: { ...hostPath, path: await node.addPath(owner, hostPath['path'], type) } };
}

/** The objects that the pods of one refer to. */
function referredBy(object: Fields): Fields[] {
  const { namespace } = fields(object['metadata']);
  const { pods, objects } = readManifests(JSON.stringify(object), { file: 'x.json', nodeName: 'n1' });
  const templates = objects.flatMap(({ object: each }): Pod[] => {
    const found = isConfigObject(each) ? undefined : findPodTemplate(each);
    const metadata = { name: 'x', namespace: 'default' };
    return found === undefined
      ? []
      : [{ apiVersion: 'v1', kind: 'Pod', metadata, spec: found.template.spec }];
  });
  const wanted = new Map<string, Fields & { readonly data: Record<string, string> }>();
  for (const pod of [...pods.map(({ pod: each }) => each), ...templates]) {
    for (const { kind, name, keys = [], optional, isForPull } of podReferences(pod)) {
      if (optional || isForPull) continue;
      const key = `${kind}/${name}`;
      const metadata = { name, namespace };
      const known = wanted.get(key) ?? { apiVersion: 'v1', kind, metadata, data: {} };
      for (const each of keys) known.data[each] = kind === 'Secret' ? 'eA==' : 'x';
      wanted.set(key, known);
    }
  }
  return [...wanted.values()];
}

function withLabel(metadata: Fields, index: number): Fields {
  const { labels, annotations } = metadata;
  return {
    labels: { ...fields(labels), [CASE_LABEL]: String(index) },
    ...(annotations === undefined ? {} : { annotations }),
  };
}

function fields(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fields) : [];
}
