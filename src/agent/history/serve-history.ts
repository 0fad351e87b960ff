import { isId } from '../../journal/journal-id.js';
import { JOURNAL_KINDS } from '../../journal/journal-record.js';
import { type ServedJournal } from '../../server/journal-events.js';
import { type AgentHistory } from './agent-history.js';

/** The history as the API reads it. */
export function serveHistory(history: Pick<AgentHistory, 'read'>): ServedJournal {
  return { kinds: JOURNAL_KINDS, isId, read: (query, signal) => history.read(query, signal) };
}
