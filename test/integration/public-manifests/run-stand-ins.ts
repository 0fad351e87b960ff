import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalApiClient } from '../local-api-client.js';
import { PodloopProcess } from '../podloop-process.js';
import { type NodeStandIn } from './node-stand-in.js';
import { CASE_LABEL, type StandIn } from './stand-in.js';

interface ContainerStatus {
  readonly state?: {
    readonly running?: object;
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly terminated?: { readonly exitCode?: number; readonly reason?: string; readonly message?: string };
  };
}

interface ShownPod {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

/** What became of a stand-in: undefined when its pods run or have ended well, else why not. */
export type RunVerdict = string | undefined;

const BATCH = 30;
/** What does not run among many is tried again among few: a busy machine has time for those. */
const FEW = 8;
/** Pods with which nothing happens for so long do not run: a loaded machine takes longer for all of them. */
const STILL_MS = 45_000;
/** Some begin again and again. */
const LIMIT_MS = 240_000;
const LOOK_MS = 500;
const EMPTY = '{"apiVersion":"v1","kind":"List","items":[]}';

/** An agent on the embedded runtime, in a folder of its own, that runs stand-ins a few at a time. */
export class StandInRunner implements AsyncDisposable {
  readonly #manifests: string;
  readonly #agent: PodloopProcess;
  readonly #api: LocalApiClient;

  private constructor(manifests: string, agent: PodloopProcess, api: LocalApiClient) {
    this.#manifests = manifests;
    this.#agent = agent;
    this.#api = api;
  }

  static async start(folder: string, { rootDir, imageDir }: NodeStandIn): Promise<StandInRunner> {
    const manifests = join(folder, 'manifests');
    await mkdir(manifests);
    await writeFile(join(manifests, 'none.json'), EMPTY);
    const place = ['--root-dir', rootDir, '--pod-logs-dir', join(folder, 'logs'), '--image-dir', imageDir];
    const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'namespaces', '--network', 'host'];
    const agent = new PodloopProcess([
      ...['run', manifests, ...place, ...runtime, '--node-name', 'n1', '--stop-pods'],
      ...['--file-check-frequency', '1s'],
    ]);
    await agent.line('stderr', /Started node agent/);
    return new StandInRunner(manifests, agent, new LocalApiClient(join(rootDir, 'podloop.sock')));
  }

  /** Runs all of them, by their numbers. */
  async run(standIns: ReadonlyMap<number, StandIn>): Promise<Map<number, RunVerdict>> {
    const verdicts = new Map<number, RunVerdict>();
    const all = [...standIns];
    const runAll = async (list: readonly (readonly [number, StandIn])[], size: number): Promise<void> => {
      for (let from = 0; from < list.length; from += size) {
        const batch = list.slice(from, from + size);
        for (const [index, verdict] of await this.#runBatch(batch)) verdicts.set(index, verdict);
        console.info(`${Math.min(from + size, list.length)} of ${list.length} objects were run`);
      }
    };
    if (all.length > BATCH) await runAll(all, BATCH);
    await runAll(
      all.filter(([index]) => !verdicts.has(index) || verdicts.get(index) !== undefined),
      FEW,
    );
    for (const [index, standIn] of all) {
      // Ports of the node may have been those of another one.
      if (!/\bports?\b/i.test(verdicts.get(index) ?? '')) continue;
      verdicts.set(index, (await this.#runBatch([[index, standIn]])).get(index));
    }
    return verdicts;
  }

  async #runBatch(batch: readonly (readonly [number, StandIn])[]): Promise<Map<number, RunVerdict>> {
    const file = (index: number): string => join(this.#manifests, `m${index}.json`);
    for (const [index, { objects }] of batch)
      await writeFile(file(index), JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
    const until = performance.now() + LIMIT_MS;
    let [verdicts, changedAtMs] = [new Map<number, RunVerdict>(), performance.now()];
    const isOver = (): boolean => {
      const now = performance.now();
      return now >= until || now >= changedAtMs + STILL_MS;
    };
    do {
      await sleep(LOOK_MS);
      const pods = await this.#pods();
      const next = new Map(batch.map(([index, standIn]) => [index, judge(index, standIn, pods)]));
      if (!isDeepStrictEqual(next, verdicts)) changedAtMs = performance.now();
      verdicts = next;
    } while ([...verdicts.values()].some((each) => each !== undefined) && !isOver());
    for (const [index, verdict] of verdicts)
      if (verdict !== undefined) verdicts.set(index, await this.#explain(index, verdict));
    for (const [index] of batch) await rm(file(index));
    while ((await this.#pods()).length > 0) await sleep(LOOK_MS);
    return verdicts;
  }

  /** A container that is only waited for has its reason in the events of its pod. */
  async #explain(index: number, verdict: string): Promise<string> {
    if (!/^(?:ContainerCreating|Pending)$/.test(verdict)) return verdict;
    const list = await this.#api.json(`/api/v1/namespaces/m${index}/events`);
    const { items } = list as {
      readonly items: readonly { readonly type?: string; readonly message?: string }[];
    };
    const last = items.findLast(({ type }) => type === 'Warning');
    return last?.message === undefined ? verdict : `${verdict}: ${last.message}`;
  }

  async #pods(): Promise<readonly ShownPod[]> {
    return ((await this.#api.json('/api/v1/pods')) as { readonly items: readonly ShownPod[] }).items;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.end('SIGTERM');
  }
}

function judge(index: number, { pods: wanted }: StandIn, pods: readonly ShownPod[]): RunVerdict {
  const own = pods.filter(({ metadata }) => metadata.labels?.[CASE_LABEL] === String(index));
  const wrong = own.map(whyNot).find((why) => why !== undefined);
  if (wrong !== undefined) return wrong;
  return own.length >= wanted ? undefined : `${own.length} of ${wanted} pods are there`;
}

function whyNot({ status = {} }: ShownPod): string | undefined {
  const { phase, reason, message, containerStatuses = [], initContainerStatuses = [] } = status;
  if (phase === 'Succeeded') return undefined;
  if (phase === 'Failed') return [`Failed ${reason ?? ''}`.trim(), message].filter(Boolean).join(': ');
  for (const { state = {} } of [...initContainerStatuses, ...containerStatuses]) {
    const { waiting, terminated } = state;
    if (waiting !== undefined && waiting.reason !== 'PodInitializing')
      return [waiting.reason ?? 'waiting', waiting.message].filter(Boolean).join(': ');
    if (terminated !== undefined && terminated.exitCode !== 0)
      return `ended with ${terminated.exitCode}: ${terminated.message ?? terminated.reason ?? ''}`;
  }
  if (phase === 'Running' && containerStatuses.length > 0) return undefined;
  return `${phase ?? 'no phase'}${message === undefined ? '' : `: ${message}`}`;
}
