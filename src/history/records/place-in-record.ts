import { type JournalRecord } from '../journal/journal-record.js';
import { containerFieldPath, type SpecialContainers } from '#kube/container/container-field-path.js';

/** Adds the container's field in the spec of its pod, if the container is not a regular one. */
export function placeInRecord(record: JournalRecord, spec: SpecialContainers | undefined): JournalRecord {
  const { container } = record;
  const fieldPath = containerFieldPath(container, spec);
  if (fieldPath === undefined || fieldPath === containerFieldPath(container)) return record;
  return { ...record, fieldPath };
}
