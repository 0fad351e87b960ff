/**
 * The persistent history of a node: the journal, and the records that parts of an agent write into it.
 *
 * @module
 */
export { isId } from './journal/journal-id.js';
export { type JournalQuery } from './journal/journal-query.js';
export {
  JOURNAL_KINDS,
  type JournalEntry,
  type JournalPod,
  type JournalRecord,
} from './journal/journal-record.js';
export { JournalStoreError } from './journal/journal-store.js';
export { Journal, type JournalFacts } from './journal/journal.js';
export { readRecords } from './journal/read-records.js';
export { CallRecords } from './records/call-records.js';
export { hideInRecord } from './records/hide-in-record.js';
export { historyFolder } from './records/history-folder.js';
export { OfflineJournalStore } from './records/offline-journal-store.js';
export { toLifecycleRecord } from './records/lifecycle-records.js';
export { placeInRecord } from './records/place-in-record.js';
export { RepeatFolder } from './records/repeat-folder.js';
export { type RecordMaker, recordSyncs } from './records/sync-records.js';
export {
  type Incident,
  INCIDENT_VERSION,
  type IncidentFinding,
  type IncidentPod,
  parseIncident,
  cutOff,
} from './incidents/incident-record.js';
export { type DamagedIncident, IncidentStore, type StoredIncidents } from './incidents/incident-store.js';
