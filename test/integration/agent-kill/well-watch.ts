import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CriClient } from '../../../src/watch/cri/index.js';
import { ANNOTATIONS, LABELS } from '../../../src/watch/observed/labels.js';
import { CONTAINER_EXITED, CONTAINER_RUNNING } from '../embedded-node.js';
import { type ChurnPart, type ChurnPod, markOf, partsOf } from './churn-pod.js';
import { type PodChurn } from './pod-churn.js';

interface Run {
  readonly attempt: number;
  readonly delayMs: number;
  pid: number;
  startedAtNs: bigint;
  finishedAtNs: bigint;
}

interface Seen {
  readonly id: string;
  readonly pod: ChurnPod;
  readonly part: ChurnPart;
  readonly attempt: number;
  readonly state: number;
  readonly exitCode: number;
}

/** What a {@link WellWatch} is made with. */
export interface WellWatchOptions {
  readonly client: CriClient;
  readonly churn: PodChurn;
  readonly marks: string;
  /** What the names of pods end in. */
  readonly nodeName: string;
}

/** Timers may be a little early. */
const SLACK_MS = 20;
const LOOK_MS = 700;

/**
 * Looks at a runtime beside the agent and holds what it sees against what the pods of a churn may do: what was well goes
 * on as the same process, nothing runs twice, what ends is not started again before its time.
 */
export class WellWatch {
  readonly #options: WellWatchOptions;
  /** By container id. */
  readonly #runs = new Map<string, Run>();
  /** By pod, container and definition: the containers that there were of it, in order. */
  readonly #chains = new Map<string, string[]>();
  readonly #contradictions = new Set<string>();
  #looks = 0;

  constructor(options: WellWatchOptions) {
    this.#options = options;
  }

  /** How often the runtime has answered. */
  get looks(): number {
    return this.#looks;
  }

  /** How many containers were seen. */
  get size(): number {
    return this.#runs.size;
  }

  /** How often a container was seen started again. */
  get restarts(): number {
    return [...this.#chains.values()].reduce((sum, ids) => sum + ids.length - 1, 0);
  }

  /** The containers of pods that are wanted whose programs always fail, and how often each was started again. */
  async crashes(): Promise<ReadonlyMap<string, number>> {
    const { churn } = this.#options;
    const crashes = (await this.look()).filter(
      ({ pod, part }) => part.runs === 'crashes' && churn.pods.has(pod.name),
    );
    return new Map(
      crashes.toSorted((a, b) => a.attempt - b.attempt).map(({ pod, attempt }) => [pod.name, attempt]),
    );
  }

  /** Looks again and again, until the signal aborts; while nobody answers, it waits. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  /** Everything that was seen and should not be, in sentences. */
  async findContradictions(): Promise<string[]> {
    const { churn, marks } = this.#options;
    const found = [...this.#contradictions, ...this.#findEarlyRestarts()];
    for (const name of await readdir(marks)) {
      const [podName = '', partName = ''] = name.split('.');
      const part = partsOf(churn.find(podName)?.kind ?? 'web').find((each) => each.name === partName);
      const runs = (await readFile(join(marks, name), 'utf8')).trim().split('\n').length;
      if (part !== undefined && runs > mostRuns(part)) found.push(`${name} has run ${runs} times`);
    }
    return found;
  }

  /** What the folder of manifests asks for and the runtime does not show, in sentences. Rejects while it is down. */
  async findMissing(): Promise<string[]> {
    const seen = await this.look();
    const missing: string[] = [];
    for (const pod of this.#options.churn.pods.values()) {
      for (const part of partsOf(pod.kind)) {
        const [newest] = seen
          .filter((each) => each.pod.name === pod.name && each.part.name === part.name)
          .toSorted((a, b) => b.attempt - a.attempt);
        const mark = markOf(pod, part);
        const runs = await readFile(join(this.#options.marks, mark), 'utf8').catch(() => undefined);
        // The time of a doomed pod may be up before its container has begun.
        if (part.runs === 'doomed' && newest === undefined) continue;
        if (newest === undefined || (runs === undefined && part.runs !== 'doomed'))
          missing.push(`${mark} never ran`);
        else if (!isAsWanted(part, newest))
          missing.push(`${mark} is ${newest.state}, code ${newest.exitCode}`);
      }
    }
    return missing;
  }

  /** Looks once. Rejects while the runtime does not answer. */
  async look(): Promise<Seen[]> {
    const { client, churn, nodeName } = this.#options;
    const { containers } = await client.listContainers({});
    const running = new Map<string, string>();
    const seen: Seen[] = [];
    for (const { id, labels, annotations, state, metadata } of containers) {
      const pod = churn.find((labels[LABELS.podName] ?? '').replace(`-${nodeName}`, ''));
      const part = partsOf(pod?.kind ?? 'web').find(({ name }) => name === labels[LABELS.containerName]);
      if (pod === undefined || part === undefined) {
        this.#contradictions.add(`nobody asked for container ${id}`);
        continue;
      }
      const attempt = metadata?.attempt ?? 0;
      const place = `${labels[LABELS.podUid]} ${part.name}`;
      const other = running.get(place);
      if (state === CONTAINER_RUNNING) {
        if (other !== undefined)
          this.#contradictions.add(`${pod.name} ${part.name} ran as ${other} and ${id}`);
        running.set(place, id);
      }
      const exitCode = await this.#note(id, `${place} ${annotations[ANNOTATIONS.hash]}`, part, {
        attempt,
        delayMs: Number(annotations[ANNOTATIONS.restartDelayMs]),
      });
      seen.push({ id, pod, part, attempt, state, exitCode });
    }
    this.#looks++;
    return seen;
  }

  /** Gives the exit code; -1 for one that has gone meanwhile. */
  async #note(
    id: string,
    chainKey: string,
    part: ChurnPart,
    facts: Pick<Run, 'attempt' | 'delayMs'>,
  ): Promise<number> {
    const answer = await this.#options.client
      .containerStatus({ containerId: id, verbose: true })
      .catch(() => undefined);
    const { status, info } = answer ?? {};
    if (status === undefined) return -1;
    const { pid = 0 } = JSON.parse(info?.['info'] ?? '{}') as { pid?: number };
    const { startedAt: startedAtNs, finishedAt: finishedAtNs } = status;
    const run = this.#runs.get(id);
    if (run === undefined) {
      this.#runs.set(id, { ...facts, pid, startedAtNs, finishedAtNs });
      const chain = this.#chains.get(chainKey) ?? [];
      this.#chains.set(chainKey, [...chain, id]);
      if (chain.length > 0 && mostRuns(part) === 1)
        this.#contradictions.add(`${chainKey} was well as ${chain.join(', ')} and is ${id} now`);
      return status.exitCode;
    }
    const isSame =
      (run.startedAtNs === 0n || startedAtNs === run.startedAtNs) &&
      (run.pid === 0 || pid === 0 || pid === run.pid);
    if (!isSame) this.#contradictions.add(`${chainKey}, container ${id}, is another process now`);
    Object.assign(run, { startedAtNs, finishedAtNs, pid: pid === 0 ? run.pid : pid });
    if (status.state === CONTAINER_EXITED && finishedAtNs < startedAtNs)
      this.#contradictions.add(`${chainKey} ended before it began`);
    return status.exitCode;
  }

  #findEarlyRestarts(): string[] {
    const found: string[] = [];
    for (const [key, ids] of this.#chains) {
      const runs = ids.map((id) => this.#runs.get(id)!).toSorted((a, b) => a.attempt - b.attempt);
      runs.forEach((run, at) => {
        const next = runs[at + 1];
        if (next?.attempt !== run.attempt + 1 || run.finishedAtNs === 0n || next.startedAtNs === 0n) return;
        const waitedMs = Number(next.startedAtNs - run.finishedAtNs) / 1e6;
        if (waitedMs < run.delayMs - SLACK_MS)
          found.push(`${key}, attempt ${next.attempt}, came after ${waitedMs} ms instead of ${run.delayMs}`);
      });
    }
    return found;
  }
}

/** Of one definition. */
function mostRuns({ runs }: ChurnPart): number {
  return runs === 'crashes' ? Infinity : runs === 'retries' ? 2 : 1;
}

function isAsWanted({ runs }: ChurnPart, { state, exitCode }: Seen): boolean {
  switch (runs) {
    case 'on':
    case 'graceful':
      return state === CONTAINER_RUNNING;
    case 'once':
    case 'retries':
      return state === CONTAINER_EXITED && exitCode === 0;
    case 'fails':
      return state === CONTAINER_EXITED && exitCode === 3;
    case 'doomed':
      return state !== CONTAINER_RUNNING;
    case 'crashes':
      return true;
  }
}
