import { join } from 'node:path';
import { type CriClient } from '../cri/index.js';
import { type ContainerLifecycleEvent } from '../pleg/index.js';
import { LABELS } from '../runtime/index.js';
import { Backoff } from '../util/backoff.js';
import { type Clock, type ClockTimer } from '../util/clock.js';
import { messageOf } from '../util/errors.js';
import { type DemoContainer, type DemoPod } from './demo-pod.js';

/** What a {@link DemoDriver} needs. */
export interface DemoDriverOptions {
  readonly client: CriClient;
  readonly clock: Clock;
  /** Container logs go to a folder for each pod below. */
  readonly logFolder: string;
  /** PATH of the containers: they are processes of this machine. */
  readonly path: string;
  /** After so many restarts a container is left dead; without limit unless told. */
  readonly maxRestarts?: number;
  /** Says what is done, one sentence at a time. */
  readonly say: (sentence: string) => void;
}

/** Delays between restarts: the kubelet's 10 s to 5 min, shortened for people who watch. */
const RESTART_BACKOFF = { initialMs: 1_000, maxMs: 10_000 } as const;

interface DrivenContainer {
  readonly spec: DemoContainer;
  readonly backoff: Backoff;
  attempt: number;
  id: string;
  /** The dead one before, kept until the next death, as the kubelet keeps one to look at. */
  previousId: string | undefined;
  restart: ClockTimer | undefined;
}

interface DrivenPod {
  readonly spec: DemoPod;
  readonly sandboxId: string;
  readonly containers: DrivenContainer[];
}

/**
 * Lives the demo's pods through: creates them, starts containers again that ended, and removes everything.
 *
 * As little as shows the event generator at work: it learns of deaths from events alone, and what it does by calls of
 * CRI comes back as events. No probes, no volumes, no crash safety: those need the agent itself.
 */
export class DemoDriver {
  readonly #options: DemoDriverOptions;
  readonly #pods: DrivenPod[] = [];
  /** Restarts and clean-up never run beside one another. */
  #work: Promise<void> = Promise.resolve();
  #working = 0;
  #ending = false;

  constructor(options: DemoDriverOptions) {
    this.#options = options;
  }

  /** Whether something is being done, or some container waits for its restart. */
  get hasWork(): boolean {
    if (this.#working > 0) return true;
    return this.#pods.some((pod) => pod.containers.some((container) => container.restart !== undefined));
  }

  /** Creates a pod and starts its containers. Rejects when the runtime refuses. */
  async startPod(spec: DemoPod): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#ending) return;
      const config = sandboxConfigOf(spec, this.#options);
      const { podSandboxId: sandboxId } = await this.#options.client.runPodSandbox({ config });
      const pod: DrivenPod = { spec, sandboxId, containers: [] };
      this.#pods.push(pod);
      for (const containerSpec of spec.containers) {
        const container: DrivenContainer = {
          spec: containerSpec,
          backoff: new Backoff(RESTART_BACKOFF),
          attempt: 0,
          id: '',
          previousId: undefined,
          restart: undefined,
        };
        pod.containers.push(container);
        await this.#startContainer(pod, container);
      }
    });
  }

  /** Takes note of a death: whether and when the container starts again follows from its pod's restart policy. */
  onDeath(event: ContainerLifecycleEvent): void {
    const pod = this.#pods.find(({ spec }) => spec.uid === event.pod.uid);
    const container = pod?.containers.find(({ id }) => id === event.containerId);
    if (this.#ending || pod === undefined || container === undefined || container.restart !== undefined)
      return;
    const { restartPolicy, name } = pod.spec;
    const isOver = restartPolicy === 'Never' || (restartPolicy === 'OnFailure' && event.exitCode === 0);
    if (isOver || container.attempt >= (this.#options.maxRestarts ?? Infinity)) return;
    const delayMs = container.backoff.nextMs();
    this.#options.say(`${name}: container ${container.spec.name} starts again in ${delayMs / 1000} s`);
    container.restart = this.#options.clock.setTimer(delayMs, () => void this.#restart(pod, container));
  }

  /** Stops every container within its pod's grace period, pods beside one another, and removes all of them. */
  async removeAll(): Promise<void> {
    this.#ending = true;
    for (const { containers } of this.#pods) containers.forEach(({ restart }) => restart?.cancel());
    await this.#inTurn(async () => {
      const outcomes = await Promise.allSettled(this.#pods.map((pod) => this.#removePod(pod)));
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) throw failed.reason as Error;
    });
  }

  async #restart(pod: DrivenPod, container: DrivenContainer): Promise<void> {
    // From here on the next death counts: it may come before this is through.
    container.restart = undefined;
    await this.#inTurn(async () => {
      if (this.#ending) return;
      const deadBefore = container.previousId;
      container.previousId = container.id;
      container.attempt++;
      await this.#startContainer(pod, container);
      if (deadBefore !== undefined) await this.#options.client.removeContainer({ containerId: deadBefore });
    }).catch((error: unknown) => this.#options.say(`${pod.spec.name}: ${messageOf(error)}`));
  }

  async #startContainer(pod: DrivenPod, container: DrivenContainer): Promise<void> {
    const { client, path } = this.#options;
    const { spec, sandboxId } = pod;
    const { name, image, command, args, env, workingDir } = container.spec;
    const envs = [{ name: 'PATH', value: path }, ...env].map(({ name: key, value }) => ({
      key,
      value: Buffer.from(value),
    }));
    const { containerId } = await client.createContainer({
      podSandboxId: sandboxId,
      sandboxConfig: sandboxConfigOf(spec, this.#options),
      config: {
        metadata: { name, attempt: container.attempt },
        image: { image },
        command: [...command],
        args: [...args],
        workingDir,
        envs,
        labels: { ...labelsOf(spec), [LABELS.containerName]: name },
        logPath: `${name}_${container.attempt}.log`,
      },
    });
    container.id = containerId;
    await client.startContainer({ containerId });
  }

  async #removePod({ spec, sandboxId, containers }: DrivenPod): Promise<void> {
    const { client } = this.#options;
    const timeout = BigInt(spec.gracePeriodSeconds);
    const stops = containers
      .filter(({ id }) => id !== '')
      .map(({ id }) => client.stopContainer({ containerId: id, timeout }));
    await Promise.allSettled(stops);
    await client.stopPodSandbox({ podSandboxId: sandboxId });
    await client.removePodSandbox({ podSandboxId: sandboxId });
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    this.#working++;
    const mine = this.#work.then(work).finally(() => this.#working--);
    this.#work = mine.catch(() => undefined);
    await mine;
  }
}

function sandboxConfigOf(pod: DemoPod, { logFolder }: DemoDriverOptions) {
  const { uid, namespace, name } = pod;
  return {
    metadata: { uid, namespace, name, attempt: 0 },
    hostname: name,
    logDirectory: join(logFolder, `${namespace}_${name}_${uid}`),
    labels: labelsOf(pod),
    annotations: pod.annotations,
  };
}

function labelsOf({ uid, namespace, name, labels }: DemoPod): Record<string, string> {
  return {
    ...labels,
    [LABELS.podUid]: uid,
    [LABELS.podNamespace]: namespace,
    [LABELS.podName]: name,
    [LABELS.nodeInstance]: 'demo',
  };
}
