import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';
import { type Readable } from 'node:stream';
import { type ConfigObject } from '#kube/objects/config-object.js';
import { type FieldPath, formatFieldPath } from '#kube/fields/field-path.js';
import { formatValue } from '#kube/fields/field-problem.js';
import { findForbidden, type NodePolicy } from '#kube/node/node-policy.js';
import { toStaticPod } from '#kube/pod/static-pod.js';
import { MANIFEST_ENDINGS, manifestNameKind } from '../manifests/manifest-names.js';
import { type ManifestPlace, type ManifestProblem } from '../manifests/manifest-problem.js';
import {
  aboutFile,
  LARGEST_MANIFEST_BYTES,
  type ManifestObject,
  type ManifestPod,
  readManifests,
  type WrittenObject,
} from '../manifests/manifest-reader.js';
import { isConfigObject, objectName, objectTwinProblem } from '../manifests/source-object.js';
import { APPARMOR_PREFIX, SECCOMP_POD, SECCOMP_PREFIX } from '#kube/validation/validate-pod-annotations.js';
import { messageOf } from '#base/errors/errors.js';
import { listPassedOver, type PassedOver } from '../manifests/passed-over.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { type Pod } from '#kube/pod/pod.js';
import { clusterObjectNote, findPodTemplate, type Service } from '#kube/workloads/workload.js';
import { type PodReference, podReferences } from '#kube/pod/pod-references.js';

/** Whether the file does not exist, so that no line can be named. */
export function isAbsentFile({ message }: ManifestProblem): boolean {
  return message === NO_SUCH_FILE;
}

export { formatManifestProblem, type ManifestProblem } from '../manifests/manifest-problem.js';

/** What to validate, and for which node. */
export interface ValidateOptions {
  /** Files and folders; `-` is standard input. */
  readonly paths: readonly string[];
  /** The node on which the pods would run. */
  readonly nodeName: string;
  /** What that node forbids pods to have (default: nothing). */
  readonly policy?: NodePolicy;
  readonly stdin: Readable;
}

/** A pod that could run. */
export interface ValidPod {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Its name on the node, with the node's name as its suffix. */
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  /** Changes with every edit that has a meaning. */
  readonly hash: string;
}

/** An object that is no pod, and could be used here. */
export interface ValidObject {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly kind: WrittenObject['kind'];
  readonly name: string;
  readonly namespace: string;
}

/** What an agent would make of manifests. */
export interface Validation {
  readonly pods: readonly ValidPod[];
  readonly objects: readonly ValidObject[];
  readonly problems: readonly ManifestProblem[];
  /** For valid pods: missing references, and fields without effect. */
  readonly warnings: readonly ManifestProblem[];
  /** Files in folders that an agent does not read, and subfolders, as far as somebody may think that they count. */
  readonly passedOver: readonly PassedOver[];
}

const NO_POLICY: NodePolicy = { forbid: new Set(), allowedHostPaths: undefined };

const NO_SUCH_FILE = 'no such file or folder';

/** The name of standard input in messages. */
const STDIN_NAME = '<stdin>';

/**
 * Reads manifests as an agent does, and runs nothing. Unreadable files are reported as problems; never
 * throws.
 *
 * In a folder it reads the .yaml, .yml, .json and .manifest files directly in it, except hidden ones, in the
 * order of names. For two pods, ConfigMaps or Secrets of the same name in the same namespace, the second has
 * the problem.
 */
export async function validateManifests(options: ValidateOptions): Promise<Validation> {
  const pods: ManifestPod[] = [];
  const objects: ManifestObject[] = [];
  const problems: ManifestProblem[] = [];
  const passedOver: PassedOver[] = [];
  for (const path of options.paths) {
    passedOver.push(...(await listPassedOver(path)));
    for (const { file, read, missing } of await listFiles(path, options)) {
      if (missing !== undefined) {
        problems.push(aboutFile(file, missing));
        continue;
      }
      try {
        const reading = readManifests(await read(), { file, nodeName: options.nodeName });
        pods.push(...reading.pods);
        objects.push(...reading.objects);
        problems.push(...reading.problems);
        const isEmpty = reading.pods.length + reading.objects.length + reading.problems.length === 0;
        if (isEmpty) problems.push(aboutFile(file, 'there is no pod in it'));
      } catch (error) {
        problems.push(aboutFile(file, `cannot be read: ${messageOf(error)}`));
      }
    }
  }
  const { policy = NO_POLICY, nodeName } = options;
  const templates = objects.flatMap(podsOfObject);
  const forbidden = [...pods, ...templates].flatMap((each) => findForbiddenFields(each, policy));
  const allowed = pods.filter((each) => findForbiddenFields(each, policy).length === 0);
  const isAllowed = (object: ManifestObject): boolean =>
    podsOfObject(object).every((each) => findForbiddenFields(each, policy).length === 0);
  const known = identifyObjects(objects.filter(isAllowed));
  const identified = identifyPods(allowed, nodeName);
  return {
    pods: identified.pods,
    objects: known.objects,
    problems: [...problems, ...forbidden, ...identified.problems, ...known.problems],
    warnings: [
      ...[...pods, ...templates].flatMap(findPodWarnings),
      ...objects.flatMap(findObjectNotes),
      ...findMissingReferences([...pods, ...templates], objects),
      ...[...pods, ...templates].flatMap((each) => findMissingClaims(each, objects)),
    ],
    passedOver,
  };
}

/** A pod of a manifest, or of a template: its fields are those below `inside`. */
type CheckedPod = ManifestPod & { readonly inside?: FieldPath };

function pathIn(inside: FieldPath | undefined, path: FieldPath): string {
  return formatFieldPath([...(inside ?? []), ...path]);
}

/** The pod that an object would make, named after it: as far as its template says. */
function podsOfObject({ object, place, placeOf }: ManifestObject): CheckedPod[] {
  const found = isConfigObject(object) ? undefined : findPodTemplate(object);
  if (found === undefined) return [];
  const { template, path } = found;
  const { name, namespace } = object.metadata;
  const metadata = { ...template.metadata, name, namespace };
  const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: template.spec };
  const placeIn = (inner: FieldPath): ManifestPlace => placeOf([...path, ...inner]);
  return [{ pod, place, placeOf: placeIn, findProblemsOfNew: () => [], leftOut: [], inside: path }];
}

function findObjectNotes({ object, place, placeOf }: ManifestObject): ManifestProblem[] {
  const note = (about: string, path: FieldPath = []): ManifestProblem => ({
    ...(path.length === 0 ? place : placeOf(path)),
    ...{ kind: 'unknown', path: formatFieldPath(path), message: about, pod: '', namespace: '' },
  });
  const name = `the ${object.kind} ${formatValue(object.metadata.name)}`;
  if (object.kind === 'Service')
    return findServiceNotes(object).map(([path, why]) => note(`${name} ${why}`, path));
  const message = clusterObjectNote(object.kind);
  return message === undefined ? [] : [note(`${name} is ${message}`)];
}

/** What of a Service is different from what its author may expect. */
function findServiceNotes({ spec }: Service): [FieldPath, string][] {
  const { type, selector = {}, clusterIP = '' } = spec;
  const notes: [FieldPath, string][] = [];
  if (type === 'LoadBalancer') {
    notes.push([['spec', 'type'], 'has no load balancer: its ports are those of the node (nodePort)']);
  }
  if (type !== 'ExternalName' && Object.keys(selector).length === 0) {
    notes.push([['spec'], 'has no selector, so it leads to no pod: Endpoints in manifests are not read']);
  }
  if (isIPv4(clusterIP)) {
    notes.push([
      ['spec', 'clusterIP'],
      `gets ${clusterIP} only if that is in the range of Services (--service-cidr)`,
    ]);
  }
  return notes;
}

function findForbiddenFields({ pod, place, inside }: CheckedPod, policy: NodePolicy): ManifestProblem[] {
  const { name, namespace = '' } = pod.metadata;
  return findForbidden(pod, policy).map(({ kind, path, message }) => ({
    ...{ ...place, kind, message, path: pathIn(inside, path) },
    ...{ pod: name, namespace },
  }));
}

/** The warnings about a valid pod. */
function findPodWarnings({ pod, place, placeOf, leftOut, inside }: CheckedPod): ManifestProblem[] {
  const { name, namespace = '', annotations = {} } = pod.metadata;
  const about = (path: FieldPath, message: string): ManifestProblem => ({
    ...{ ...placeOf(path), kind: 'unknown', path: pathIn(inside, path), message },
    ...{ pod: name, namespace },
  });
  const dumped: ManifestProblem[] =
    leftOut.length === 0
      ? []
      : [{ ...about([], `a cluster wrote it, and it is left out: ${leftOut.join(', ')}`), ...place }];
  const profiles = Object.keys(annotations).flatMap((key): ManifestProblem[] => {
    const path: FieldPath = ['metadata', 'annotations', { key }];
    if (key.startsWith(APPARMOR_PREFIX))
      return [about(path, 'deprecated since Kubernetes 1.30; use securityContext.appArmorProfile instead')];
    if (key !== SECCOMP_POD && !key.startsWith(SECCOMP_PREFIX)) return [];
    return [about(path, 'without effect since Kubernetes 1.27; use securityContext.seccompProfile instead')];
  });
  const { serviceAccountName: account = '' } = pod.spec;
  const accounts: ManifestProblem[] =
    account === '' || account === 'default'
      ? []
      : [
          about(
            ['spec', 'serviceAccountName'],
            'no token is mounted, as there is no API server: only the name counts, as spec.serviceAccountName of the downward API',
          ),
        ];
  return [...dumped, ...accounts, ...profiles];
}

interface InputFile {
  readonly file: string;
  readonly read: () => Promise<Uint8Array>;
  readonly missing?: string;
}

async function listFiles(path: string, { stdin }: ValidateOptions): Promise<InputFile[]> {
  // One more byte shows that it is too large.
  const most = LARGEST_MANIFEST_BYTES + 1;
  if (path === '-') return [{ file: STDIN_NAME, read: () => readAtMost(stdin, most) }];
  const fileOf = (file: string): InputFile => ({
    file,
    read: () => readAtMost(createReadStream(file), most),
  });
  try {
    if (!(await stat(path)).isDirectory()) return [fileOf(path)];
    const names = await readdir(path);
    const files = names.filter((name) => manifestNameKind(name) === 'manifest').sort();
    if (files.length > 0) return files.map((name) => fileOf(join(path, name)));
    return [{ ...fileOf(path), missing: `there is no ${MANIFEST_ENDINGS.join(', ')} file in it` }];
  } catch (error) {
    const isAbsent = systemCodeOf(error) === 'ENOENT';
    return [{ ...fileOf(path), missing: isAbsent ? NO_SUCH_FILE : `cannot be read: ${messageOf(error)}` }];
  }
}

/** Reads a stream to its end, or as far as any of it is used. Rejects when it fails. */
async function readAtMost(stream: Readable, mostBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size >= mostBytes) break;
  }
  return Buffer.concat(chunks);
}

function identifyPods(
  found: readonly ManifestPod[],
  nodeName: string,
): Pick<Validation, 'pods' | 'problems'> {
  const pods: ValidPod[] = [];
  const more: ManifestProblem[] = [];
  for (const { pod: written, place } of found) {
    const { pod, hash } = toStaticPod(written, { source: 'file', nodeName });
    const { name, namespace, uid } = pod.metadata;
    const twin = pods.find(
      (other) => other.uid === uid || (other.name === name && other.namespace === namespace),
    );
    if (twin === undefined) {
      pods.push({ ...place, name, namespace, uid, hash });
      continue;
    }
    const isUid = twin.name !== name || twin.namespace !== namespace;
    more.push({
      ...{ ...place, kind: 'duplicate', path: isUid ? 'metadata.uid' : 'metadata.name' },
      message: `Duplicate value: ${formatValue(isUid ? uid : written.metadata.name)}: stands at ${twin.file}:${twin.line} already`,
      ...{ pod: written.metadata.name, namespace },
    });
  }
  return { pods, problems: more };
}

function identifyObjects(found: readonly ManifestObject[]): Pick<Validation, 'objects' | 'problems'> {
  const firsts = new Map<string, ManifestObject>();
  const problems: ManifestProblem[] = [];
  for (const each of found) {
    const first = firsts.get(objectName(each.object));
    if (first === undefined) firsts.set(objectName(each.object), each);
    else problems.push(objectTwinProblem(each, first.place));
  }
  const objects = [...firsts.values()].map(({ object: { kind, metadata }, place }) => {
    const { name, namespace } = metadata;
    return { ...place, kind, name, namespace };
  });
  return { objects, problems };
}

/**
 * Required references of pods that are in none of these manifests, each once per pod. Pure.
 *
 * This is no error: a pod waits for such an object, and it may come from another file.
 */
function findMissingReferences(
  pods: readonly CheckedPod[],
  objects: readonly ManifestObject[],
): ManifestProblem[] {
  const configs = objects.map(({ object }) => object).filter(isConfigObject);
  const known = new Map(configs.map((object) => [keyOf(object.kind, object.metadata), object]));
  return pods.flatMap(({ pod, placeOf, inside }) => {
    const { name, namespace = DEFAULT_NAMESPACE } = pod.metadata;
    const told = new Set<string>();
    return podReferences(pod).flatMap((reference): ManifestProblem[] => {
      const { kind, path } = reference;
      const found = known.get(keyOf(kind, { namespace, name: reference.name }));
      const messages = missingOf(reference, found, namespace).filter((message) => !told.has(message));
      for (const message of messages) told.add(message);
      return messages.map((message) => ({
        ...{ ...placeOf(path), kind: 'not-found', path: pathIn(inside, path), message },
        ...{ pod: name, namespace },
      }));
    });
  });
}

/** Claims that are in none of these manifests: they get an empty volume. Pure. */
function findMissingClaims(
  { pod, placeOf, inside }: CheckedPod,
  objects: readonly ManifestObject[],
): ManifestProblem[] {
  const { name, namespace = DEFAULT_NAMESPACE } = pod.metadata;
  const known = objects
    .filter(({ object }) => object.kind === 'PersistentVolumeClaim')
    .map(({ object }) => keyOf(object.kind, object.metadata));
  return (pod.spec.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }, index): ManifestProblem[] => {
    if (claim === undefined) return [];
    if (known.includes(keyOf('PersistentVolumeClaim', { namespace, name: claim.claimName }))) return [];
    const path: FieldPath = ['spec', 'volumes', index, 'persistentVolumeClaim', 'claimName'];
    const what = `the PersistentVolumeClaim ${formatValue(claim.claimName)} of the namespace ${namespace}`;
    const message = `${what} is in none of these files: it gets an empty volume of this node`;
    return [
      {
        ...{ ...placeOf(path), kind: 'not-found', path: pathIn(inside, path), message },
        ...{ pod: name, namespace },
      },
    ];
  });
}

function missingOf(
  { kind, name, keys = [], optional, isForPull }: PodReference,
  found: ConfigObject | undefined,
  namespace: string,
): string[] {
  if (optional) return [];
  const what = `the ${kind} ${formatValue(name)} of the namespace ${namespace}`;
  if (found === undefined) {
    const effect = isForPull ? 'images are fetched without it' : 'the pod waits until there is one';
    return [`${what} is in none of these files: ${effect}`];
  }
  return keys
    .filter((key) => !hasKey(found, key))
    .map((key) => `${what} has no entry ${formatValue(key)}: the pod waits until there is one`);
}

function hasKey(object: ConfigObject, key: string): boolean {
  return object.data.has(key) || (object.kind === 'ConfigMap' && object.binaryData.has(key));
}

function keyOf(kind: string, of: { readonly namespace: string; readonly name: string }): string {
  return `${kind} ${of.namespace}/${of.name}`;
}
