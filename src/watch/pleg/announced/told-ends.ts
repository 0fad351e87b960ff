import {
  type ContainerStatus,
  type ObservedContainer,
  type ObservedPod,
  type ObservedState,
  type PodStatus,
  type ToldStatuses,
} from '../../observed/runtime.js';
import { CHECKED_FOR_MS } from './hint-checks.js';

/** The look at the end of that time may be early by so much, as timers may. */
const TIMER_SLACK_MS = 10;

/** The end of a container, told by an event before any look has shown it. */
export interface ToldEnd {
  /** As looks will show it. */
  readonly container: ObservedContainer;
  readonly status: ContainerStatus;
  /** Monotonic milliseconds. */
  readonly toldAtMs: number;
}

/** By the id of the container. */
export type ToldEnds = ReadonlyMap<string, ToldEnd>;

/** No end that looks have yet to show. */
export const NO_ENDS: ToldEnds = new Map();

/** What {@link findToldEnds} goes by. */
export interface ToldEndInputs {
  /** The look that everybody was told of. */
  readonly accepted: ObservedPod;
  /** The status that goes with it. */
  readonly known: PodStatus;
  readonly told: ToldStatuses;
  /** The container that the event says has ended. */
  readonly containerId: string;
  /** Monotonic milliseconds. */
  readonly nowMs: number;
}

/**
 * The ends that an event tells of and that may be told at once. Pure.
 *
 * Nobody knows how old an event is. But a container that has exited never runs again under its id, so its end is true however
 * late it is heard of. All else that is new in the event, such as a container that nobody has seen, or a sandbox's end, says that
 * there is more to find out than ends: undefined then, and when the container itself has not just ended.
 */
export function findToldEnds(inputs: ToldEndInputs): ToldEnds | undefined {
  const { accepted, known, told, containerId, nowMs } = inputs;
  if (!told.sandboxes.every((status) => isNoNews(accepted.sandboxes.find(isOf(status)), status)))
    return undefined;
  const ends = new Map<string, ToldEnd>();
  for (const status of told.containers) {
    const before = accepted.containers.find(isOf(status));
    if (isNoNews(before, status)) continue;
    // One that was not seen to run may have a start that nobody was told of, and one that is gone has no status to change.
    const hasEnded = before?.state === 'running' && status.state === 'exited';
    if (!hasEnded || !known.containers.some(isOf(status))) return undefined;
    ends.set(status.id, { container: { ...before, state: 'exited' }, status, toldAtMs: nowMs });
  }
  return ends.has(containerId) ? ends : undefined;
}

/** The pod with these ends, where it does not show them itself; the same object when it does. Pure. */
export function podWithEnds(pod: ObservedPod, ends: ToldEnds): ObservedPod {
  if (ends.size === 0) return pod;
  const containers = pod.containers.map((container) =>
    container.state === 'exited' ? container : (ends.get(container.id)?.container ?? container),
  );
  const isSame = containers.every((container, index) => container === pod.containers[index]);
  return isSame ? pod : { ...pod, containers };
}

/** The same of a status. Pure. */
export function statusWithEnds(status: PodStatus, ends: ToldEnds): PodStatus {
  if (ends.size === 0) return status;
  const containers = status.containers.map((container) =>
    container.state === 'exited' ? container : (ends.get(container.id)?.status ?? container),
  );
  return { ...status, containers };
}

/** What a look makes of ends that were told before it. */
export interface EndsAfterLook {
  /** Those that it may not show yet. */
  readonly left: ToldEnds;
  /** Those that it shows not to be true. */
  readonly refuted: readonly ToldEnd[];
}

/**
 * Holds ends against a look at the pod that began at `startedMs`, in monotonic milliseconds. Pure.
 *
 * A look that began before the event shows nothing of it, and a runtime may tell of an end before its list shows it: only a
 * look that begins when no look for the event's sake is due any more proves that the container runs after all.
 */
export function holdEnds(ends: ToldEnds, pod: ObservedPod, startedMs: number): EndsAfterLook {
  if (ends.size === 0) return { left: ends, refuted: [] };
  const left = new Map<string, ToldEnd>();
  const refuted: ToldEnd[] = [];
  for (const [id, end] of ends) {
    const shown = pod.containers.find((container) => container.id === id);
    if (shown === undefined || shown.state === 'exited') continue;
    if (startedMs - end.toldAtMs >= CHECKED_FOR_MS - TIMER_SLACK_MS) refuted.push(end);
    else left.set(id, end);
  }
  return { left, refuted };
}

interface Member {
  readonly id: string;
  readonly state: ObservedState;
}

const isOf =
  ({ id }: { readonly id: string }) =>
  (member: { readonly id: string }): boolean =>
    member.id === id;

/** It is told as it is known, or as it was before its end. */
function isNoNews(known: Member | undefined, { state }: Member): boolean {
  return known !== undefined && (known.state === state || known.state === 'exited');
}
