import { type JournalRecord } from '../journal/journal-record.js';
import { type ContainerLifecycleEvent, type PodLifecycleEvent } from '#watch';
import { formatRfc3339 } from '#base/time/rfc3339.js';

/** Converts an event of the generator into a record; undefined if it is not worth recording. */
export function toLifecycleRecord(event: PodLifecycleEvent): JournalRecord | undefined {
  const base = { atMs: event.observedAtMs, kind: 'lifecycle' } as const;
  switch (event.type) {
    case 'ContainerStarted':
    case 'ContainerDied':
    case 'ContainerRemoved':
      return {
        ...base,
        type: hasFailed(event) ? 'Warning' : 'Normal',
        reason: event.type,
        message: describe(event),
        pod: event.pod,
        ...(event.kind === 'container' ? { container: event.containerName } : {}),
        details: {
          ...{ containerId: event.containerId, containerKind: event.kind, trigger: event.trigger },
          ...{ exitCode: event.exitCode, containerReason: event.reason, owner: event.owner },
          occurredAt: event.occurredAtNs === undefined ? undefined : formatRfc3339(event.occurredAtNs),
        },
      };
    case 'PodSync':
      if (event.folded === 0) return undefined;
      return {
        ...{ ...base, type: 'Normal', reason: 'EventsFolded', pod: event.pod },
        message: `${event.folded} changes of containers came too fast to be reported one by one`,
      };
    case 'Resync':
      return {
        ...{ ...base, type: 'Warning', reason: 'EventsFolded' },
        message: `${event.folded} changes of containers of many pods came too fast to be reported one by one`,
      };
    default:
      return undefined;
  }
}

function hasFailed({ type, kind, exitCode = 0 }: ContainerLifecycleEvent): boolean {
  return type === 'ContainerDied' && kind === 'container' && exitCode !== 0;
}

function describe({ type, kind, containerName, exitCode, reason, trigger }: ContainerLifecycleEvent): string {
  const what = kind === 'sandbox' ? 'Sandbox' : `Container ${containerName}`;
  // What the first list shows may be new, or recorded by an earlier agent.
  const found = trigger === 'initial' ? ', found at the start' : '';
  if (type === 'ContainerStarted') {
    return found === '' ? `${what} started` : `${what} runs${found}`;
  }
  if (type === 'ContainerRemoved') return `${what} was removed`;
  if (kind === 'sandbox' || exitCode === undefined) return `${what} died${found}`;
  return `${what} died with exit code ${exitCode}${reason === undefined ? '' : `: ${reason}`}${found}`;
}
