import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { messageOf, PodloopError } from '../util/errors.js';
import { YamlValue } from '../util/yaml-value.js';

const MANIFEST = {
  code: 'MANIFEST_INVALID',
  insteadOfSecond: 'put each pod into a file of its own',
} as const;

/** When a container that ended is started again. */
export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

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

const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Reads every .yaml, .yml and .json file of a folder, one pod each, in the order of their names. */
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
    const pod = parseDemoPod(await readFile(file, 'utf8'), file);
    if (pods.some((other) => other.namespace === pod.namespace && other.name === pod.name)) {
      throw new PodloopError(
        'MANIFEST_INVALID',
        `${file}: there is a pod ${pod.namespace}/${pod.name} already`,
      );
    }
    pods.push(pod);
  }
  return pods;
}

/**
 * Reads one v1 Pod. `file` is for messages; a pod without metadata.uid gets a new one.
 *
 * Throws MANIFEST_INVALID for everything that is wrong, and for every field that the demo would have to ignore.
 */
export function parseDemoPod(text: string, file: string): DemoPod {
  const { apiVersion, kind, metadata, spec } = YamlValue.parse(text, { ...MANIFEST, name: file }).fields(
    'apiVersion',
    'kind',
    'metadata',
    'spec',
  );
  apiVersion.oneOf(['v1']);
  kind.oneOf(['Pod']);
  const meta = metadata.fields('name', 'namespace', 'uid', 'labels', 'annotations');
  const { restartPolicy, terminationGracePeriodSeconds, containers } = spec.fields(
    'restartPolicy',
    'terminationGracePeriodSeconds',
    'containers',
  );
  const gracePeriodSeconds = terminationGracePeriodSeconds.integer(30);
  if (gracePeriodSeconds < 0) throw terminationGracePeriodSeconds.invalid('must not be negative');
  const parsed = containers.items().map(parseContainer);
  if (parsed.length === 0) throw containers.invalid('must have at least one container');
  containers.items().forEach((container, index) => {
    const { name } = parsed[index]!;
    if (parsed.findIndex((other) => other.name === name) !== index) {
      throw container.invalid(`there is a container ${name} already`);
    }
  });
  return {
    uid: meta.uid.string(randomUUID()),
    namespace: nameOf(meta.namespace, 'default'),
    name: nameOf(meta.name),
    labels: meta.labels.stringMap(),
    annotations: meta.annotations.stringMap(),
    restartPolicy: restartPolicy.oneOf(['Always', 'OnFailure', 'Never'], 'Always'),
    gracePeriodSeconds,
    containers: parsed,
  };
}

function parseContainer(value: YamlValue): DemoContainer {
  const { name, image, command, args, env, workingDir } = value.fields(
    'name',
    'image',
    'command',
    'args',
    'env',
    'workingDir',
  );
  return {
    name: nameOf(name),
    image: image.string(),
    command: command.items().map((item) => item.string()),
    args: args.items().map((item) => item.string()),
    env: env.items().map((item) => {
      const variable = item.fields('name', 'value');
      return { name: variable.name.string(), value: variable.value.string('') };
    }),
    workingDir: workingDir.string(''),
  };
}

function nameOf(value: YamlValue, fallback?: string): string {
  const name = value.string(fallback);
  if (NAME.test(name)) return name;
  throw value.invalid(
    `${JSON.stringify(name)} is not a name: use at most 63 of a-z, 0-9 and "-", not at either end`,
  );
}
