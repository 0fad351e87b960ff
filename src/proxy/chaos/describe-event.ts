import { EVENT_FIELDS } from './cri-fields.js';
import { EVENTS_METHOD } from './cri-method.js';
import { type KnownId, type PodDirectory } from './pod-directory.js';
import { ifReadable, readFields } from '#base/wire/protobuf-fields.js';
import { EVENT_KINDS } from './chaos-rule.js';
import { lookUpOnce, streamSubject, type Subject } from './subject.js';

/** What a ContainerEventResponse is about. One that cannot be read is about nothing in particular. */
export function describeEvent(path: string, event: Buffer, directory: PodDirectory): Subject {
  let containerId = '';
  let kind = 0;
  let sandbox: Buffer | undefined;
  const containers: Buffer[] = [];
  try {
    for (const { number, bytes, value } of readFields(event)) {
      if (number === EVENT_FIELDS.containerId) containerId = bytes.toString('utf8');
      else if (number === EVENT_FIELDS.kind) kind = value;
      else if (number === EVENT_FIELDS.sandboxStatus) sandbox = bytes;
      else if (number === EVENT_FIELDS.containerStatuses) containers.push(bytes);
    }
  } catch {
    return streamSubject(path);
  }
  const known = lookUpOnce((): KnownId | undefined => {
    const sandboxId = ifReadable(() => directory.learnStatuses(sandbox, containers)) ?? '';
    // An event of a sandbox itself has its id where others have a container's.
    const ids = [sandboxId, containerId].filter((id) => id !== '');
    const told = ids.map((id) => directory.findSandbox(id)).find((found) => found !== undefined);
    return directory.findContainer(containerId) ?? told;
  });
  return { method: EVENTS_METHOD, path, containerId, eventKind: EVENT_KINDS[kind], known };
}
