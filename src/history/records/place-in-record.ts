import { type JournalRecord } from '../journal/journal-record.js';
import { containerFieldPath, type SpecialContainers } from '#kube/container/container-field-path.js';

/** The same record with where in the spec of its pod the container stands, for one that is not among the regular ones. */
export function placeInRecord(record: JournalRecord, spec: SpecialContainers | undefined): JournalRecord {
  const { container } = record;
  const fieldPath = containerFieldPath(container, spec);
  if (fieldPath === undefined || fieldPath === containerFieldPath(container)) return record;
  return { ...record, fieldPath };
}
