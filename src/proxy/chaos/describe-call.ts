import { isCri, shortMethod, subjectOf } from './cri-method.js';
import {
  CONTAINER_CONFIG_FIELDS,
  CONTAINER_METADATA_FIELDS,
  CREATE_CONTAINER_REQUEST_FIELDS,
  RUN_SANDBOX_REQUEST_FIELDS,
  SUBJECT_REQUEST_FIELDS,
} from './cri-fields.js';
import { type KnownId, type PodDirectory, readPodOfConfig } from './pod-directory.js';
import { findBytes, readString } from '#base/wire/protobuf-fields.js';
import { lookUpOnce, type Subject } from './subject.js';

/** What a call is about, by its request. A request that cannot be read is about nothing in particular. */
export function describeCall(path: string, request: Buffer, directory: PodDirectory): Subject {
  const method = shortMethod(path);
  const subject = { method, path };
  if (!isCri(path)) return subject;
  try {
    if (method === 'RunPodSandbox') {
      const pod = readPodOfConfig(findBytes(request, RUN_SANDBOX_REQUEST_FIELDS.config));
      return { ...subject, known: () => pod && { pod } };
    }
    const kind = subjectOf(method);
    if (kind === undefined) return subject;
    const id = readString(request, SUBJECT_REQUEST_FIELDS.id);
    if (kind === 'container')
      return { ...subject, containerId: id, known: lookUpOnce(() => directory.findContainer(id)) };
    if (method !== 'CreateContainer')
      return { ...subject, sandboxId: id, known: lookUpOnce(() => directory.findSandbox(id)) };
    const containerName = containerNameOf(request);
    const configured = readPodOfConfig(findBytes(request, CREATE_CONTAINER_REQUEST_FIELDS.sandboxConfig));
    const known = lookUpOnce((): KnownId => ({
      ...{ pod: directory.findSandbox(id)?.pod ?? configured, sandboxId: id, containerName },
    }));
    return { ...subject, sandboxId: id, known };
  } catch {
    return subject;
  }
}

/** Of a CreateContainerRequest: config.metadata.name. */
function containerNameOf(request: Buffer): string {
  const config = findBytes(request, CREATE_CONTAINER_REQUEST_FIELDS.config);
  const metadata = config && findBytes(config, CONTAINER_CONFIG_FIELDS.metadata);
  return metadata === undefined ? '' : readString(metadata, CONTAINER_METADATA_FIELDS.name);
}
