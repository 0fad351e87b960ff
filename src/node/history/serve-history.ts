import { isId, JOURNAL_KINDS } from '#history';
import { type ServedJournal } from '../api/objects/journal-events.js';
import { type AgentHistory } from './agent-history.js';

/** The history as the API serves it. */
export function serveHistory(history: Pick<AgentHistory, 'read'>, nodeName: string): ServedJournal {
  return {
    kinds: JOURNAL_KINDS,
    isId,
    read: ({ filter: { pod, ...filter }, ...query }, signal) =>
      history.read({ ...query, filter: { ...filter, pods: podNames(pod, nodeName) } }, signal),
  };
}

/** Pods of manifests have the node's name as a suffix. */
export function podNames(name: string | undefined, nodeName: string): readonly string[] | undefined {
  return name === undefined ? undefined : [name, `${name}-${nodeName}`];
}
