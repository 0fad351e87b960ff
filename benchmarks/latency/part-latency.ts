import { coveredMs } from '../agents/covered-time.js';
import { type CallTrace, type TracedCall } from '../agents/trace-calls.js';

/** A death and what became of it; wall-clock milliseconds. */
export interface TracedDeath {
  readonly containerId: string;
  readonly podUid: string;
  /** By the runtime's record. */
  readonly finishedMs: number;
  /** When it was known; undefined when it never was. */
  readonly toldMs: number | undefined;
  /** By the runtime's record of the container that came in its place; undefined when none did. */
  readonly replacedMs: number | undefined;
}

/** Where the time from a process's end went, milliseconds. */
export interface LatencyParts {
  readonly totalMs: number;
  /** Until the runtime's event was there; 0 where none came, or came later than the death was known. */
  readonly eventMs: number;
  /** At least one call about the pod was not answered yet. */
  readonly callsMs: number;
  /** The rest: waiting for the next look included. */
  readonly ownMs: number;
}

/** Finds the parts of deaths in the trace of the agent that saw to them. */
export class LatencyPartition {
  readonly #byPod = new Map<string, TracedCall[]>();
  readonly #ofAll: TracedCall[] = [];
  readonly #stoppedMs = new Map<string, number>();

  constructor({ calls, events }: CallTrace) {
    for (const call of calls) {
      if (call.podUid !== undefined) {
        const own = this.#byPod.get(call.podUid);
        if (own === undefined) this.#byPod.set(call.podUid, [call]);
        else own.push(call);
      } else if (call.method === 'ListPodSandbox' || call.method === 'ListContainers') this.#ofAll.push(call);
    }
    for (const { type, containerId, atMs } of events) {
      if (type === 'stopped' && !this.#stoppedMs.has(containerId)) this.#stoppedMs.set(containerId, atMs);
    }
  }

  /** From the end to when it was known. */
  untilTold(death: TracedDeath): LatencyParts | undefined {
    return death.toldMs === undefined ? undefined : this.#divide(death, death.toldMs);
  }

  /** From the end to the start of the replacement. */
  untilReplaced(death: TracedDeath): LatencyParts | undefined {
    return death.replacedMs === undefined ? undefined : this.#divide(death, death.replacedMs);
  }

  #divide({ containerId, podUid, finishedMs, toldMs }: TracedDeath, endMs: number): LatencyParts {
    const stoppedMs = this.#stoppedMs.get(containerId);
    const wasAnnounced = stoppedMs !== undefined && stoppedMs <= (toldMs ?? endMs);
    const eventEndMs = wasAnnounced ? Math.max(finishedMs, stoppedMs) : finishedMs;
    // Calls about all pods found the death only when no event did.
    const calls = [...(this.#byPod.get(podUid) ?? []), ...(wasAnnounced ? [] : this.#ofAll)];
    const totalMs = endMs - finishedMs;
    const eventMs = eventEndMs - finishedMs;
    const callsMs = coveredMs(calls, eventEndMs, endMs);
    return { totalMs, eventMs, callsMs, ownMs: totalMs - eventMs - callsMs };
  }
}
