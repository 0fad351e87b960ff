import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  formatManifestProblem,
  MANIFEST_ENDINGS,
  manifestNameKind,
  isConfigObject,
  objectName,
  readManifests,
} from '#node';
import { type ConfigObject } from '#kube/objects/config-object.js';
import { toV1ConfigObject } from '#kube/objects/config-object-json.js';
import { type Container } from '#kube/container/container.js';
import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { type Pod } from '#kube/pod/pod.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';

/** The annotation in which an example says what it shows. */
export const STORY_ANNOTATION = 'podloop.dev/story';

/** What a folder of examples holds. */
export interface DemoContents {
  readonly pods: readonly Pod[];
  /** What the pods refer to. */
  readonly objects: readonly ConfigObject[];
}

/**
 * Reads the pods and objects of a folder of manifests, in the order of the files' names. Throws MANIFEST_INVALID with the first
 * thing that is wrong: an example is to be right as a whole.
 */
export async function readDemoPods(folder: string, nodeName: string): Promise<DemoContents> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw invalid(`cannot read the folder ${folder}: ${messageOf(error)}`, error);
  });
  const files = names.filter((name) => manifestNameKind(name) === 'manifest').sort();
  if (files.length === 0) throw invalid(`${folder}: there is no ${MANIFEST_ENDINGS.join(', ')} file in it`);
  const pods: Pod[] = [];
  const objects: ConfigObject[] = [];
  for (const name of files) {
    const file = join(folder, name);
    const reading = readManifests(await readFile(file), { file, nodeName });
    const [problem] = reading.problems;
    if (problem !== undefined) throw invalid(formatManifestProblem(problem));
    if (reading.pods.length + reading.objects.length === 0) throw invalid(`${file}: there is no pod in it`);
    for (const { pod } of reading.pods) {
      const isTwin = pods.some((other) => demoPodName(other) === demoPodName(pod));
      if (isTwin) throw invalid(`${file}: there is a pod ${demoPodName(pod)} already`);
      pods.push(pod);
    }
    for (const { object } of reading.objects) {
      if (!isConfigObject(object)) {
        throw invalid(`${file}: the demo shows Pods; podloop run takes a ${object.kind}`);
      }
      const isTwin = objects.some((other) => objectName(other) === objectName(object));
      if (isTwin) throw invalid(`${file}: there is a ${objectName(object)} already`);
      objects.push(object);
    }
  }
  return { pods, objects };
}

/** `namespace/name`, as the manifest has it. */
export function demoPodName({ metadata: { namespace = DEFAULT_NAMESPACE, name } }: Pod): string {
  return `${namespace}/${name}`;
}

/**
 * One manifest of all of them, whose containers find programs where `path` says: their files are this machine's, and
 * what is on its PATH may be at unusual places. A PATH that a manifest has itself stays. Pure.
 */
export function toDemoManifest({ pods, objects }: DemoContents, path: string): string {
  const withPath = (container: Container): Container => ({
    ...container,
    env: [{ name: 'PATH', value: path.replaceAll('$', '$$$$') }, ...(container.env ?? [])],
  });
  const items = pods.map((pod) => {
    const { initContainers, containers } = pod.spec;
    const init = initContainers === undefined ? {} : { initContainers: initContainers.map(withPath) };
    return { ...pod, spec: { ...pod.spec, ...init, containers: containers.map(withPath) } };
  });
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'List' },
    items: [...objects.map(toV1ConfigObject), ...items],
  });
}

function invalid(message: string, cause?: unknown): PodloopError {
  return new PodloopError('MANIFEST_INVALID', message, { cause });
}
