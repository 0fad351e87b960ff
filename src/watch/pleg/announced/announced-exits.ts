import {
  type ContainerStatus,
  type ObservedContainer,
  type ObservedPod,
  type ObservedState,
  type PodStatus,
  type EventStatuses,
} from '../../observed/runtime.js';
import { CHECKED_FOR_MS } from './hint-checks.js';

/** How much too early the last of those lists may come, as timers may. */
const TIMER_SLACK_MS = 10;

/** The exit of a container, published from an event before any list has shown it. */
export interface AnnouncedExit {
  /** As lists will show it. */
  readonly container: ObservedContainer;
  readonly status: ContainerStatus;
  /** Monotonic milliseconds. */
  readonly announcedAtMs: number;
}

/** By the id of the container. */
export type AnnouncedExits = ReadonlyMap<string, AnnouncedExit>;

/** No exits that lists have yet to show. */
export const NO_EXITS: AnnouncedExits = new Map();

/** Input of {@link findAnnouncedExits}. */
export interface AnnouncedExitInputs {
  /** The list entry whose events were published. */
  readonly accepted: ObservedPod;
  /** The status that goes with it. */
  readonly known: PodStatus;
  readonly told: EventStatuses;
  /** The container that exited according to the event. */
  readonly containerId: string;
  /** Monotonic milliseconds. */
  readonly nowMs: number;
}

/**
 * The exits in an event that may be published early. Pure.
 *
 * The age of an event is unknown. But a container that has exited never runs again under its id, so its exit
 * is true however late the event comes. Anything else that is new in the event, such as an unknown container
 * or a sandbox's end, means that there is more to find out than exits: the result is undefined then. It is
 * undefined too if the container itself has not just exited.
 */
export function findAnnouncedExits(inputs: AnnouncedExitInputs): AnnouncedExits | undefined {
  const { accepted, known, told, containerId, nowMs } = inputs;
  if (!told.sandboxes.every((status) => isNoNews(accepted.sandboxes.find(isOf(status)), status)))
    return undefined;
  const ends = new Map<string, AnnouncedExit>();
  for (const status of told.containers) {
    const before = accepted.containers.find(isOf(status));
    if (isNoNews(before, status)) continue;
    // A container that was not seen running may have an unpublished start, and one that is gone has no status
    // to change.
    const hasEnded = before?.state === 'running' && status.state === 'exited';
    if (!hasEnded || !known.containers.some(isOf(status))) return undefined;
    ends.set(status.id, { container: { ...before, state: 'exited' }, status, announcedAtMs: nowMs });
  }
  return ends.has(containerId) ? ends : undefined;
}

/** Adds these exits to a pod that does not show them; returns the same object if it does. Pure. */
export function podWithExits(pod: ObservedPod, ends: AnnouncedExits): ObservedPod {
  if (ends.size === 0) return pod;
  const containers = pod.containers.map((container) =>
    container.state === 'exited' ? container : (ends.get(container.id)?.container ?? container),
  );
  const isSame = containers.every((container, index) => container === pod.containers[index]);
  return isSame ? pod : { ...pod, containers };
}

/** Adds these exits to a status that does not show them. Pure. */
export function statusWithExits(status: PodStatus, ends: AnnouncedExits): PodStatus {
  if (ends.size === 0) return status;
  const containers = status.containers.map((container) =>
    container.state === 'exited' ? container : (ends.get(container.id)?.status ?? container),
  );
  return { ...status, containers };
}

/** How a list affects the exits published before it. */
export interface ExitsAfterList {
  /** Exits that it may not show yet. */
  readonly left: AnnouncedExits;
  /** Exits that it disproves. */
  readonly refuted: readonly AnnouncedExit[];
}

/**
 * Compares exits with a list of the pod that began at `startedMs`, in monotonic milliseconds. Pure.
 *
 * A list that began before the event says nothing about it, and a runtime may announce an exit before its
 * list shows it. So only a list that begins after the last recheck of the event proves that the container
 * still runs.
 */
export function compareExits(ends: AnnouncedExits, pod: ObservedPod, startedMs: number): ExitsAfterList {
  if (ends.size === 0) return { left: ends, refuted: [] };
  const left = new Map<string, AnnouncedExit>();
  const refuted: AnnouncedExit[] = [];
  for (const [id, end] of ends) {
    const shown = pod.containers.find((container) => container.id === id);
    if (shown === undefined || shown.state === 'exited') continue;
    if (startedMs - end.announcedAtMs >= CHECKED_FOR_MS - TIMER_SLACK_MS) refuted.push(end);
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

/** Whether a member in an event is not new: it has the known state, or one from before its known exit. */
function isNoNews(known: Member | undefined, { state }: Member): boolean {
  return known !== undefined && (known.state === state || known.state === 'exited');
}
