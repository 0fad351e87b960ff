import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isRecord } from '#base/text/is-record.js';
import { findPodTemplate } from '#kube/workloads/workload.js';
import { podReferences } from '#kube/pod/pod-references.js';
import { type Pod } from '#kube/pod/pod.js';
import { readManifests } from '../../../src/node/desired/manifests/manifest-reader.js';
import { isConfigObject } from '../../../src/node/desired/manifests/source-object.js';
import { type PublicObject } from './collect-manifests.js';

type Fields = Readonly<Record<string, unknown>>;

/** The label with the number of an object, on all pods that it has. */
export const CASE_LABEL = 'podloop-case';
/** What stands for every image. */
const STAND_IN_IMAGE = 'podloop.local/host';

const STAY = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 1; done'];
const END = ['sh', '-c', 'exit 0'];
const MAX_PODS = 2;

/** An object that can run here, with what it refers to. */
export interface StandIn {
  readonly objects: readonly Fields[];
  /** How many pods are to run or to have ended; of a CronJob those of one Job. */
  readonly pods: number;
}

/**
 * Makes of an object one that runs without its images: in a namespace of its own, with other images and commands, probes and hooks that
 * succeed, no requests of resources, paths of the node below `hostFolder`, at most two pods, and a ConfigMap or Secret for
 * each that it refers to. Everything else stays: volumes, security contexts, host namespaces, ports, dependencies.
 *
 * Some of a CronJob is its Job.
 */
export async function toStandIn(
  { kind, value }: PublicObject,
  index: number,
  hostFolder: string,
): Promise<StandIn> {
  const name = `m${index}`;
  const paths: { readonly path: string; readonly type: string }[] = [];
  const given = fields(value['spec']);
  if (kind === 'Pod') {
    const metadata = { ...withLabel(fields(value['metadata']), index), name, namespace: name };
    const spec = podSpec(given, (given['restartPolicy'] ?? 'Always') !== 'Always', hostFolder, paths);
    const pod = { apiVersion: 'v1', kind, metadata, spec };
    return { objects: [pod, ...(await supply(pod, paths))], pods: 1 };
  }
  const isCron = kind === 'CronJob';
  const own = isCron ? fields(fields(given['jobTemplate'])['spec']) : given;
  const template = fields(own['template']);
  const isJob = isCron || kind === 'Job';
  const spec = podSpec(fields(template['spec']), isJob, hostFolder, paths);
  const counts = countsOf(kind, own);
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
  return { objects: [object, ...(await supply(object, paths))], pods: counts.pods };
}

function countsOf(kind: string, spec: Fields): { readonly fields: Fields; readonly pods: number } {
  const capped = (value: unknown, usual: number): number =>
    Math.min(MAX_PODS, typeof value === 'number' ? value : usual);
  if (kind === 'DaemonSet') return { fields: {}, pods: 1 };
  if (kind === 'Job' || kind === 'CronJob') {
    const { completions, parallelism } = spec;
    const pods = capped(completions, capped(parallelism, 1));
    if (spec['suspend'] === true && kind === 'Job') return { fields: {}, pods: 0 };
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

function podSpec(
  spec: Fields,
  ends: boolean,
  hostFolder: string,
  paths: { readonly path: string; readonly type: string }[],
): Fields {
  const containers = (list: unknown, command: readonly string[]): unknown =>
    Array.isArray(list) ? list.map((each) => container(fields(each), command)) : list;
  const { resources: _, ...rest } = spec;
  return {
    ...rest,
    terminationGracePeriodSeconds: 0,
    containers: containers(spec['containers'], ends ? END : STAY),
    ...(spec['initContainers'] === undefined
      ? {}
      : { initContainers: containers(spec['initContainers'], END) }),
    ...(spec['volumes'] === undefined
      ? {}
      : {
          volumes: Array.isArray(spec['volumes'])
            ? spec['volumes'].map((each) => volume(fields(each), hostFolder, paths))
            : spec['volumes'],
        }),
  };
}

function container(given: Fields, command: readonly string[]): Fields {
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
  return {
    ...rest,
    ...Object.fromEntries(probes),
    ...(hooks.length === 0 ? {} : { lifecycle: Object.fromEntries(hooks) }),
    ...{ image: STAND_IN_IMAGE, imagePullPolicy: 'IfNotPresent', command: isSidecar ? STAY : command },
  };
}

function volume(
  given: Fields,
  hostFolder: string,
  paths: { readonly path: string; readonly type: string }[],
): Fields {
  const { hostPath } = given;
  if (!isRecord(hostPath) || typeof hostPath['path'] !== 'string') return given;
  const type = typeof hostPath['type'] === 'string' ? hostPath['type'] : '';
  // Sockets and devices are what the machine has or has not.
  if (/^(?:Socket|CharDevice|BlockDevice)$/.test(type)) return given;
  const path = join(hostFolder, hostPath['path']);
  paths.push({ path, type });
  return { ...given, hostPath: { ...hostPath, path } };
}

/** Makes the paths of the node, and returns the objects that pods refer to. */
async function supply(
  object: Fields,
  paths: readonly { readonly path: string; readonly type: string }[],
): Promise<Fields[]> {
  for (const { path, type } of paths) {
    if (type.startsWith('File')) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, '').catch(() => undefined);
    } else await mkdir(path, { recursive: true }).catch(() => undefined);
  }
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
