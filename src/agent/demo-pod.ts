import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { type ManifestPod, readManifests } from '../config/manifest-reader.js';
import { type ManifestProblem } from '../config/manifest-problem.js';
import { type Container } from '../model/container.js';
import { type SupportRule } from '../model/decode-object.js';
import { type Pod, type RestartPolicy } from '../model/pod.js';
import { messageOf, PodloopError } from '../util/errors.js';

export { type RestartPolicy } from '../model/pod.js';

/** One container of a {@link DemoPod}. */
export interface DemoContainer {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly workingDir: string;
}

/** A pod of the demo, as its manifest wants it: the part of a v1 Pod that the demo can live through. */
export interface DemoPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly restartPolicy: RestartPolicy;
  readonly gracePeriodSeconds: number;
  /** Never empty. */
  readonly containers: readonly DemoContainer[];
}

/** The annotation in which an example says what it shows. */
export const STORY_ANNOTATION = 'podloop.dev/story';

/** What the demo's driver honours, by type; whatever else asks for something is refused. */
const HONOURED: Readonly<Record<string, readonly string[]>> = {
  Pod: ['apiVersion', 'kind', 'metadata', 'spec'],
  ObjectMeta: ['name', 'namespace', 'uid', 'labels', 'annotations'],
  PodSpec: ['restartPolicy', 'terminationGracePeriodSeconds', 'containers'],
  Container: ['name', 'image', 'command', 'args', 'env', 'workingDir'],
  EnvVar: ['name', 'value'],
};

const isHonoured: SupportRule = (type, field, { support }) =>
  support === 'ignored' || (HONOURED[type] ?? []).includes(field);

/** Reads every .yaml, .yml and .json file of a folder, in the order of their names. */
export async function readDemoPods(folder: string): Promise<DemoPod[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw new PodloopError('MANIFEST_INVALID', `cannot read the folder ${folder}: ${messageOf(error)}`, {
      cause: error,
    });
  });
  const files = names.filter((name) => ['.yaml', '.yml', '.json'].includes(extname(name))).sort();
  if (files.length === 0)
    throw new PodloopError('MANIFEST_INVALID', `${folder}: no .yaml, .yml or .json file in it`);
  const pods: DemoPod[] = [];
  for (const name of files) {
    const file = join(folder, name);
    for (const pod of parseDemoPods(await readFile(file, 'utf8'), file)) {
      if (pods.some((other) => other.namespace === pod.namespace && other.name === pod.name)) {
        throw new PodloopError(
          'MANIFEST_INVALID',
          `${file}: there is a pod ${pod.namespace}/${pod.name} already`,
        );
      }
      pods.push(pod);
    }
  }
  return pods;
}

/**
 * Reads the pods of a file. `file` is for messages; a pod without metadata.uid gets a new one.
 *
 * Throws MANIFEST_INVALID with the first thing that is wrong, also for every field that the demo would have to ignore.
 */
export function parseDemoPods(text: string, file: string): DemoPod[] {
  const { pods, problems } = readManifests(text, { file, isSupported: isHonoured });
  const [first] = problems;
  if (first !== undefined) throw invalid(first);
  if (pods.length === 0) throw new PodloopError('MANIFEST_INVALID', `${file}:1: there is no pod in it`);
  return pods.map(toDemoPod);
}

function toDemoPod({ pod }: ManifestPod): DemoPod {
  const { metadata, spec }: Pod = pod;
  return {
    uid: metadata.uid ?? randomUUID(),
    namespace: metadata.namespace ?? 'default',
    name: metadata.name,
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    restartPolicy: spec.restartPolicy ?? 'Always',
    gracePeriodSeconds: spec.terminationGracePeriodSeconds ?? 30,
    containers: spec.containers.map(toDemoContainer),
  };
}

function toDemoContainer({ name, image, command, args, env, workingDir }: Container): DemoContainer {
  return {
    ...{ name, image, command: command ?? [], args: args ?? [], workingDir: workingDir ?? '' },
    env: (env ?? []).map((variable) => ({ name: variable.name, value: variable.value ?? '' })),
  };
}

function invalid({ file, line, path, message }: ManifestProblem): PodloopError {
  const place = path === '' ? '' : `${path}: `;
  return new PodloopError('MANIFEST_INVALID', `${file}:${line}: ${place}${message}`);
}
