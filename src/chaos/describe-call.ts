import { isCri, shortMethod, subjectOf } from './cri-method.js';
import { type KnownId, type PodDirectory } from './pod-directory.js';
import { findBytes, readString } from './protobuf-fields.js';
import { type Subject } from './rule-book.js';

/** What a call is about, by its request. A request that cannot be read is about nothing in particular. */
export function describeCall(path: string, request: Buffer, directory: PodDirectory): Subject {
  const method = shortMethod(path);
  const subject = { method, path };
  if (!isCri(path)) return subject;
  try {
    if (method === 'RunPodSandbox') return { ...subject, known: () => podOfConfig(findBytes(request, 1)) };
    const kind = subjectOf(method);
    if (kind === undefined) return subject;
    const id = readString(request, 1);
    if (kind === 'container')
      return { ...subject, containerId: id, known: () => directory.findContainer(id) };
    const known = (): KnownId | undefined => {
      const sandbox = directory.findSandbox(id);
      if (method !== 'CreateContainer' || sandbox === undefined) return sandbox;
      return { ...sandbox, containerName: containerNameOf(request) };
    };
    return { ...subject, sandboxId: id, known };
  } catch {
    return subject;
  }
}

function podOfConfig(config: Buffer | undefined): KnownId | undefined {
  const metadata = config && findBytes(config, 1);
  if (metadata === undefined) return undefined;
  const pod = {
    name: readString(metadata, 1),
    uid: readString(metadata, 2),
    namespace: readString(metadata, 3),
  };
  return { pod };
}

/** Of a CreateContainerRequest: config.metadata.name. */
function containerNameOf(request: Buffer): string {
  const config = findBytes(request, 2);
  const metadata = config && findBytes(config, 1);
  return metadata === undefined ? '' : readString(metadata, 1);
}
