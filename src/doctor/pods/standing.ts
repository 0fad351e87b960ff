import { type PodDiagnosis } from './pod-case.js';
import { type EventObject } from './pod-object.js';

/** Where a pod stands, as one of the explanations has it. */
export type Standing = Pick<
  PodDiagnosis,
  'step' | 'container' | 'reason' | 'message' | 'sinceMs' | 'remedy'
> &
  Partial<Pick<PodDiagnosis, 'evidence' | 'isWell'>>;

/** A time of Kubernetes in milliseconds since the epoch; undefined when there is none. */
export function timeOf(text: string | null | undefined): number | undefined {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

/** The newest of the events that have one of these reasons; they are given newest first. */
export function findNews(
  events: readonly EventObject[],
  isWanted: (reason: string) => boolean,
): EventObject | undefined {
  return events.find(({ reason = '' }) => isWanted(reason));
}
