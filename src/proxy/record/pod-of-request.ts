import { findBytes, ifReadable, readString } from '#base/wire/protobuf-fields.js';
import { type RecordedMethod } from './recorded-method.js';

/** A pod that was listed, or that a request named. */
export interface RecordedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Where a request has the PodSandboxConfig of the pod that it is made for. */
const CONFIG_FIELDS: Readonly<Record<string, number>> = {
  RunPodSandbox: 1,
  CreateContainer: 3,
  PullImage: 3,
};
/** Where that has its PodSandboxMetadata, and what is where in it. */
const METADATA_FIELD = 1;
const FIELDS = { name: 1, uid: 2, namespace: 3 } as const;

/** Whether requests of that method name their pod, and not only an id. */
export function namesItsPod({ name }: RecordedMethod): boolean {
  return CONFIG_FIELDS[name] !== undefined;
}

/** The pod that a request names; undefined when it names none, or cannot be read. */
export function findPodOfRequest({ name: method }: RecordedMethod, request: Buffer): RecordedPod | undefined {
  const field = CONFIG_FIELDS[method];
  if (field === undefined) return undefined;
  return ifReadable(() => {
    const config = findBytes(request, field);
    const metadata = config === undefined ? undefined : findBytes(config, METADATA_FIELD);
    if (metadata === undefined) return undefined;
    return {
      namespace: readString(metadata, FIELDS.namespace),
      name: readString(metadata, FIELDS.name),
      uid: readString(metadata, FIELDS.uid),
    };
  });
}
