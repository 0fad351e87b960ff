import { type Clock } from '#base/time/clock.js';
import { type ContainerStatusObject, type PodObject } from '#kube/columns/kube-object.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type CliHost } from '../../cli-host.js';
import { type AgentClient } from '../api/agent-client.js';
import { ApiError } from '../api/api-status.js';
import { chooseContainer } from '../api/container-choice.js';
import { pathOf, PODS } from '../api/resource-type.js';
import { readLines } from '../api/watch-objects.js';
import { readEventsOf } from '../describe/describe-events.js';
import { describePod } from '../describe/describe-pod.js';
import { connectCommand } from '../streaming/connect-command.js';
import { assertUnended } from '../streaming/stream-flags.js';
import { runSession } from '../streaming/terminal-session.js';

/** A log that is wanted. */
export interface LogChoice {
  readonly pod: PodRef;
  readonly container: string;
  /** That of the container before the last restart. */
  readonly isPrevious: boolean;
}

/** What a screen can find out about a pod, and do in it. Every method rejects with an error for people. */
export interface PodAccess {
  /** All that is known of the pod, as lines. */
  details(pod: PodRef, signal: AbortSignal): Promise<readonly string[]>;
  /** The names of its containers, the one that is meant if none is named first. */
  containers(pod: PodRef, signal: AbortSignal): Promise<readonly string[]>;
  /** Hands the log on, line by line, over restarts; resolves when nothing more can come. */
  followLog(choice: LogChoice, write: (line: string) => void, signal: AbortSignal): Promise<void>;
  /** Joins the terminal with a shell in the pod until it ends. */
  shell(pod: PodRef, container: string, signal: AbortSignal): Promise<void>;
}

/** Lines of the log of before that are shown. */
const TAIL_LINES = 500;
const RETRY_MS = 1_000;
/** bash where the image has it. */
const SHELL = ['sh', '-c', 'command -v bash >/dev/null 2>&1 && exec bash; exec sh'];

/** Access to the pods of an agent, over its API. */
export class AgentPodAccess implements PodAccess {
  readonly #client: AgentClient;
  readonly #host: CliHost;
  readonly #clock: Clock;

  constructor(client: AgentClient, host: CliHost) {
    this.#client = client;
    this.#host = host;
    this.#clock = host.clock;
  }

  async details(pod: PodRef, signal: AbortSignal): Promise<readonly string[]> {
    const object = await this.#read(pod, signal);
    return describePod(object, await readEventsOf(this.#client, object), this.#clock.now());
  }

  async containers(pod: PodRef, signal: AbortSignal): Promise<readonly string[]> {
    const object = await this.#read(pod, signal);
    const { container } = chooseContainer(object, undefined);
    const { containers = [], initContainers = [], ephemeralContainers = [] } = object.spec ?? {};
    const all = [...containers, ...initContainers, ...ephemeralContainers].map(({ name = '' }) => name);
    const first = container.name ?? '';
    return [first, ...all.filter((name) => name !== first)];
  }

  async followLog(choice: LogChoice, write: (line: string) => void, signal: AbortSignal): Promise<void> {
    const { pod, container, isPrevious } = choice;
    let tailLines: number | undefined = TAIL_LINES;
    let problem: string | undefined;
    while (!signal.aborted) {
      const before = await this.#findContainer(choice, signal);
      if (before === 'gone') {
        write('(the pod is gone)');
        return;
      }
      try {
        const path = `${pathOf(PODS, pod.namespace, pod.name)}/log`;
        const query = isPrevious ? { container, previous: true } : { container, follow: true, tailLines };
        const answer = await this.#client.open('GET', path, { query, signal });
        for await (const line of readLines(this.#client.read(answer))) write(line);
        if (isPrevious) return;
        // The next one began while this one was followed.
        tailLines = undefined;
        problem = undefined;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.told !== problem) write(`(${error.told})`);
        if (isPrevious) return;
        problem = error.told;
        await this.#clock.sleep(RETRY_MS, signal);
        continue;
      }
      write(`(container ${container} has ended; the next one follows here)`);
      await this.#untilAnother(choice, before?.containerID, signal);
    }
  }

  async shell(pod: PodRef, container: string, signal: AbortSignal): Promise<void> {
    const path = pathOf(PODS, pod.namespace, pod.name);
    assertUnended(await this.#read(pod, signal), 'exec into');
    const choice = { stdin: true, stdout: true, stderr: false, tty: true };
    const query = { command: SHELL, container };
    const connection = await connectCommand(this.#client, { path: `${path}/exec`, query, choice });
    await runSession(connection, { host: this.#host, choice, signal });
  }

  async #read({ namespace, name }: PodRef, signal: AbortSignal): Promise<PodObject> {
    return (await this.#client.send('GET', pathOf(PODS, namespace, name), { signal })).object;
  }

  /** Resolves when the container has another id than that, or its pod is gone. */
  async #untilAnother(choice: LogChoice, id: string | undefined, signal: AbortSignal): Promise<void> {
    for (;;) {
      const now = await this.#findContainer(choice, signal);
      if (now === 'gone' || now?.containerID !== id) return;
      await this.#clock.sleep(RETRY_MS, signal);
    }
  }

  async #findContainer(
    { pod, container }: LogChoice,
    signal: AbortSignal,
  ): Promise<ContainerStatusObject | 'gone' | undefined> {
    try {
      const { status = {} } = await this.#read(pod, signal);
      const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = status;
      return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
        ({ name }) => name === container,
      );
    } catch (error) {
      if (error instanceof ApiError && error.reason === 'NotFound') return 'gone';
      throw error;
    }
  }
}
