import { setTimeout as sleep } from 'node:timers/promises';
import { type Pod } from '../../../src/cluster/client/kube-objects.js';
import { cri } from '../../../src/watch/cri/index.js';
import { LABELS } from '../../../src/watch/observed/labels.js';
import { type CriDriver, runtimeService } from '../../containerd/harness/cri-driver.js';
import { type ContainerRecord, type SandboxRecord, titleOf, uidOf } from './find-disagreements.js';

/** What a runtime holds at one moment. */
export interface RuntimeRecords {
  readonly sandboxes: readonly SandboxRecord[];
  readonly containers: readonly ContainerRecord[];
}

/** What {@link RuntimeWatch} needs. */
export interface RuntimeWatchOptions {
  readonly node: string;
  readonly driver: CriDriver;
  /** Whether the containers of that pod may restart. */
  readonly mayRestart: (podUid: string) => boolean;
}

const LOOK_EVERY_MS = 500;
const CALL_LIMIT_MS = 20_000;
/** A runtime that is killed is back by then. */
const MAX_ABSENCE_MS = 90_000;
const STATES = new Map<number, ContainerRecord['state']>([
  [cri.ContainerState.CONTAINER_CREATED, 'created'],
  [cri.ContainerState.CONTAINER_RUNNING, 'running'],
  [cri.ContainerState.CONTAINER_EXITED, 'exited'],
]);

/**
 * Looks at a runtime again and again, over a connection of its own: no pod has two sandboxes that are ready or a second
 * container of the same name, and none that has left the API still runs.
 */
export class RuntimeWatch {
  readonly #options: RuntimeWatchOptions;
  readonly #problems = new Set<string>();
  /** Containers that have run, by pod and name. */
  readonly #ran = new Map<string, Set<string>>();
  readonly #checks = new Set<Promise<void>>();
  readonly #uids = new Set<string>();
  #looks = 0;

  constructor(options: RuntimeWatchOptions) {
    this.#options = options;
  }

  get problems(): readonly string[] {
    return [...this.#problems];
  }

  /** Of all pods that were ever seen. */
  get uids(): ReadonlySet<string> {
    return this.#uids;
  }

  /** How often the runtime has answered. */
  get looks(): number {
    return this.#looks;
  }

  /** Looks until the signal aborts; resolves then. The runtime may come and go meanwhile. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look().then(
        (records) => this.#judge(records),
        () => undefined,
      );
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** What the runtime holds now. */
  async look(): Promise<RuntimeRecords> {
    const { driver } = this.#options;
    const options = { deadlineMs: CALL_LIMIT_MS };
    const [sandboxes, { containers }] = await Promise.all([
      driver.call(runtimeService.listPodSandbox, { filter: undefined }, options),
      driver.call(runtimeService.listContainers, { filter: undefined }, options),
    ]);
    return {
      sandboxes: sandboxes.items.map(({ id, labels, state }) => ({
        ...{ id, ...podOf(labels), isReady: state === cri.PodSandboxState.SANDBOX_READY },
      })),
      containers: containers.map(({ id, labels, state }) => ({
        ...{ id, ...podOf(labels), name: labels[LABELS.containerName] ?? '' },
        state: STATES.get(state) ?? 'unknown',
      })),
    };
  }

  /** The pod has just left the API: nothing of it may run here any more. */
  checkGone(pod: Pod): void {
    const check = this.#checkGone(pod).finally(() => this.#checks.delete(check));
    this.#checks.add(check);
  }

  /** Resolves once all such checks are done. */
  async settled(): Promise<void> {
    await Promise.all(this.#checks);
  }

  async #checkGone(pod: Pod): Promise<void> {
    const giveUpAt = performance.now() + MAX_ABSENCE_MS;
    while (performance.now() < giveUpAt) {
      try {
        const { containers } = await this.look();
        const running = containers.filter(
          ({ podUid, state }) => podUid === uidOf(pod) && state === 'running',
        );
        for (const { name, id } of running) {
          this.#problems.add(
            `${this.#options.node}: ${titleOf(pod)} has left the API, and ${name} (${id}) still runs`,
          );
        }
        return;
      } catch {
        await sleep(LOOK_EVERY_MS);
      }
    }
    this.#problems.add(`${this.#options.node}: nobody could say whether ${titleOf(pod)} has ended`);
  }

  #judge({ sandboxes, containers }: RuntimeRecords): void {
    const { node, mayRestart } = this.#options;
    this.#looks++;
    const ready = new Set<string>();
    for (const { podUid, pod, isReady } of sandboxes) {
      this.#uids.add(podUid);
      if (!isReady) continue;
      if (ready.has(podUid))
        this.#problems.add(`${node}: ${pod} (${podUid}) has two sandboxes that are ready`);
      ready.add(podUid);
    }
    const running = new Set<string>();
    for (const { podUid, pod, name, state, id } of containers) {
      if (state === 'created') continue;
      const key = `${podUid} ${name}`;
      const ran = this.#ran.get(key) ?? new Set();
      this.#ran.set(key, ran.add(id));
      if (ran.size > 1 && !mayRestart(podUid)) {
        this.#problems.add(`${node}: ${name} of ${pod} (${podUid}) ran again: ${[...ran].join(', ')}`);
      }
      if (state !== 'running') continue;
      if (running.has(key)) this.#problems.add(`${node}: ${name} of ${pod} (${podUid}) runs twice`);
      running.add(key);
    }
  }
}

function podOf(labels: Readonly<Record<string, string>>): { podUid: string; pod: string } {
  const podUid = labels[LABELS.podUid] ?? '';
  return { podUid, pod: `${labels[LABELS.podNamespace]}/${labels[LABELS.podName]}` };
}
