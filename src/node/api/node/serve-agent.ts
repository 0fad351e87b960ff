/**
 * The agent about itself: what it runs and where, and its end with all of its pods.
 *
 * @module
 */
import { once } from 'node:events';
import { type Clock } from '#base/time/clock.js';
import { abortable } from '#base/async/abortable.js';
import { type ApiHandler, type JsonAnswer, jsonAnswer } from '../http/api-request.js';

/** What became of the pods at an end. */
export type EndedPods = 'stopped' | 'not all stopped';

/** A client's wish that the agent stops its pods and ends; the agent fulfils it once it runs. */
export class EndRequest {
  readonly #asked = new AbortController();
  readonly #answered = new AbortController();
  #outcome: EndedPods | undefined;

  /** Aborts when the agent is to end with its pods. */
  get signal(): AbortSignal {
    return this.#asked.signal;
  }

  /** Undefined while it is not known. */
  get outcome(): EndedPods | undefined {
    return this.#outcome;
  }

  /** Idempotent. */
  ask(): void {
    this.#asked.abort();
  }

  /** Reports what became of the pods to all who wait for it. */
  answer(outcome: EndedPods): void {
    this.#outcome = outcome;
    this.#answered.abort();
  }

  /** Resolves at {@link answer}, and after `limitMs` at the latest. Rejects when the signal aborts. */
  async wait(limitMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
    if (this.#answered.signal.aborted) return;
    const late = new AbortController();
    const both = AbortSignal.any([signal, late.signal]);
    const answered = once(this.#answered.signal, 'abort', { signal: late.signal });
    try {
      await Promise.race([abortable(answered, signal), clock.sleep(limitMs, both)]);
    } finally {
      late.abort();
      answered.catch(() => undefined);
    }
  }
}

/** What {@link agentHandlers} needs. */
export interface AgentFacts {
  readonly rootDir: string;
  /** Folders and files, absolute, and URLs; `-` is standard input. */
  readonly manifests: readonly string[];
  /** Of the cluster whose node it is; empty without one. */
  readonly kubeconfig: string;
  readonly pid: number;
  readonly socket: string;
  readonly nodeName: string;
  readonly startedAtMs: number;
  readonly runtime: { readonly name: string; readonly version: string; readonly url: string };
  /** podloop's. */
  readonly version: string;
  /** Starts the agent again when it ends, as systemd may do; undefined when nobody does. */
  readonly serviceManager: string | undefined;
  /** Whether every source of manifests was read once. */
  readonly hasReadManifests: () => boolean;
  /** The present problems of manifests, one sentence each. */
  readonly problems: () => readonly string[];
  /** Names of the pods that have something running, as `namespace/name`. */
  readonly runningPods: () => readonly string[];
  readonly ending: EndRequest;
  readonly clock: Clock;
}

/** How often the pods that still run are counted. */
const COUNT_MS = 200;

/** GET /agent and POST /agent/end. */
export function agentHandlers(facts: AgentFacts): { readonly show: ApiHandler; readonly end: ApiHandler } {
  const { ending, clock } = facts;
  return {
    show: () => showAgent(facts),
    /** A line for each change of what still runs, and a last one with the outcome. */
    end: ({ signal }) => {
      ending.ask();
      return { kind: 'stream', contentType: 'application/json', pieces: reportEnd(facts, signal) };
    },
  };

  async function* reportEnd(
    { runningPods }: AgentFacts,
    signal: AbortSignal,
  ): AsyncGenerator<string, void, undefined> {
    let last = '';
    while (ending.outcome === undefined && !signal.aborted) {
      const line = JSON.stringify({ left: runningPods() });
      if (line !== last) yield `${(last = line)}\n`;
      await ending.wait(COUNT_MS, clock, signal).catch(() => undefined);
    }
    yield `${JSON.stringify({ pods: ending.outcome })}\n`;
  }
}

function showAgent(facts: AgentFacts): JsonAnswer {
  const { pid, rootDir, socket, nodeName, version, runtime, manifests, kubeconfig, serviceManager } = facts;
  return jsonAnswer({
    kind: 'Agent',
    ...{ pid, rootDir, socket, nodeName, version, manifests },
    runtime: { name: runtime.name, version: runtime.version, url: runtime.url },
    startedAt: new Date(facts.startedAtMs).toISOString(),
    ...(kubeconfig === '' ? {} : { kubeconfig }),
    ...(serviceManager === undefined ? {} : { serviceManager }),
    hasReadManifests: facts.hasReadManifests(),
    problems: facts.problems(),
  });
}
