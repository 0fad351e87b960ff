import {
  type ConfigMap,
  type ConfigObject,
  type PodObjects,
  type Secret,
} from '#kube/objects/config-object.js';
import { hasSameContent } from '#kube/objects/config-object-update.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { podReferences } from '#kube/pod/pod-references.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';

/** New, changed or removed objects of one source. */
export interface ObjectChange {
  readonly source: string;
  /** Never empty; each is `kind namespace/name`. */
  readonly keys: ReadonlySet<string>;
}

/** What {@link ConfigObjects} needs. */
export interface ConfigObjectsOptions {
  /** Called after the change took effect; must not throw (default: nothing is called). */
  readonly onChanged?: (change: ObjectChange) => void;
}

/** An object and its source. */
export interface SourceConfigObject {
  /** `file`, `http`, `stdin`. */
  readonly source: string;
  readonly object: ConfigObject;
}

/**
 * The latest ConfigMaps and Secrets of all sources.
 *
 * A pod finds only those of its own source and namespace. The agent marks each pod with its source, and no
 * manifest can name another one.
 */
export class ConfigObjects implements PodObjects {
  readonly #onChanged: (change: ObjectChange) => void;
  readonly #bySource = new Map<string, ReadonlyMap<string, ConfigObject>>();

  constructor({ onChanged = () => undefined }: ConfigObjectsOptions = {}) {
    this.#onChanged = onChanged;
  }

  findConfigMap(pod: NodePod, name: string): ConfigMap | undefined {
    const found = this.#find(pod, 'ConfigMap', name);
    return found?.kind === 'ConfigMap' ? found : undefined;
  }

  findSecret(pod: NodePod, name: string): Secret | undefined {
    const found = this.#find(pod, 'Secret', name);
    return found?.kind === 'Secret' ? found : undefined;
  }

  /** All of them, source by source, in the order of delivery. */
  all(): SourceConfigObject[] {
    return [...this.#bySource].flatMap(([source, objects]) =>
      [...objects.values()].map((object) => ({ source, object })),
    );
  }

  /** Replaces all objects of a source. If two have the same name, the first wins. */
  deliver(source: string, objects: readonly ConfigObject[]): void {
    const before = this.#bySource.get(source) ?? new Map<string, ConfigObject>();
    const next = new Map<string, ConfigObject>();
    for (const object of objects) {
      const key = objectKey(object.kind, object.metadata);
      if (!next.has(key)) next.set(key, object);
    }
    this.#bySource.set(source, next);
    const keys = new Set([...before.keys()].filter((key) => !next.has(key)));
    for (const [key, object] of next) {
      const known = before.get(key);
      if (known === undefined || !hasSameContent(known, object)) keys.add(key);
    }
    if (keys.size > 0) this.#onChanged({ source, keys });
  }

  #find(pod: NodePod, kind: ConfigObject['kind'], name: string): ConfigObject | undefined {
    const source = sourceOf(pod);
    if (source === undefined) return undefined;
    const { namespace } = pod.metadata;
    return this.#bySource.get(source)?.get(objectKey(kind, { namespace, name }));
  }
}

/** Whether a pod refers to any of the changed objects. Pure. */
export function isConcerned(pod: NodePod, { source, keys }: ObjectChange): boolean {
  if (sourceOf(pod) !== source) return false;
  const { namespace } = pod.metadata;
  return podReferences(pod).some(({ kind, name }) => keys.has(objectKey(kind, { namespace, name })));
}

function sourceOf({ metadata }: NodePod): string | undefined {
  return metadata.annotations?.[STATIC_POD_ANNOTATIONS.source];
}

function objectKey(kind: ConfigObject['kind'], of: { readonly namespace: string; readonly name: string }) {
  return `${kind} ${of.namespace}/${of.name}`;
}
