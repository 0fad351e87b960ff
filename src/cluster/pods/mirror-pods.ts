/**
 * Keeps a copy of each static pod on the API server, so that others see it: a mirror pod.
 *
 * In: the static pods that are wanted, the mirror pods that the API server has, and the node's object, which owns them.
 * Out: mirror pods created, created again when they are deleted or out of date, and taken away with the static pod. What somebody
 * does to a mirror pod does nothing to the static pod. One that a kubelet left stays where its static pod was adopted as it is:
 * see {@link isKubeletsMirrorOf}.
 *
 * @see https://kubernetes.io/docs/tasks/configure-pod-container/static-pod/
 * @module
 */
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { isTerminalPhase } from '#kube/pod/v1-pod-status.js';
import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { isRecord } from '#base/text/is-record.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { Wakeup } from '#base/async/wakeup.js';
import { ApiError, isAnswer, type KubeClient } from '../client/kube-client.js';
import { type ApiNode } from '../node/api-node.js';
import { type AgentPods } from './agent-pods.js';
import {
  type ApiPod,
  hasEndedThere,
  isMirrorPod,
  isNamed,
  MIRROR_ANNOTATION,
  type NamedApiPod,
  pathOf,
  refOf,
  versionOfStatic,
} from './api-pod.js';
import { isOlder, type KnownPods } from './known-pods.js';
import { isKubeletsMirrorOf } from './kubelets-mirror.js';
import { mirrorTolerations } from './mirror-tolerations.js';

/** What {@link MirrorPods} need. */
export interface MirrorPodsOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: Clock;
  readonly known: KnownPods;
  readonly agent: Pick<AgentPods, 'staticPods' | 'statuses' | 'isFinished' | 'findStatus'>;
  /** Called for static pods whose mirror the API server rejects. */
  readonly events: PodEventRecorder;
  /** The node's object; undefined while it is not there. */
  readonly node: () => ApiNode | undefined;
  readonly logger?: Logger;
}

interface Failure {
  readonly backoff: Backoff;
  retryAtMs: number;
  /** What was last reported about it. */
  told: string;
}

/** The reason of the event that says why a static pod cannot be seen at the API server. */
const FAILED_MIRROR_POD = 'FailedMirrorPod';

/** Everything is checked at this period, as nothing reports that a manifest is gone. */
const LOOK_MS = 5_000;
const [FIRST_RETRY_MS, MAX_RETRY_MS] = [1_000, 60_000];

/** See the module. */
export class MirrorPods {
  readonly #options: MirrorPodsOptions;
  readonly #logger: Logger;
  readonly #wakeup = new Wakeup();
  /** Of the API server, by full name. */
  readonly #mirrors = new Map<string, NamedApiPod>();
  /** Uids of the static pods that are wanted, by full name, and the other way round. */
  #uids = new Map<string, string>();
  #names = new Map<string, string>();
  readonly #failures = new Map<string, Failure>();
  /** Versions of static pods, by the uids of mirror pods that a kubelet left and that say the same. */
  readonly #kept = new Map<string, string>();

  constructor(options: MirrorPodsOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    options.known.listen({
      changed: (pod) => {
        if (!isMirrorPod(pod)) return;
        const name = fullName(pod.metadata);
        const other = this.#mirrors.get(name);
        // List and watch may show the time before the present one was created.
        if (other !== undefined && other.metadata.uid !== pod.metadata.uid && isOlder(pod, other)) return;
        this.#mirrors.set(name, pod);
        this.refresh();
      },
      gone: (pod) => this.#lose(pod),
      listed: () => this.refresh(),
    });
  }

  /** How many the API server has. */
  get size(): number {
    return this.#mirrors.size;
  }

  /** The mirror pod of a static pod; undefined while there is none. */
  findMirror(staticUid: string): NamedApiPod | undefined {
    const name = this.#names.get(staticUid);
    return name === undefined ? undefined : this.#mirrors.get(name);
  }

  /** The uid on this node of the static pod that a mirror pod stands for. */
  findStaticUid({ metadata }: NamedApiPod): string | undefined {
    return this.#uids.get(fullName(metadata));
  }

  /** What failed is tried at once: the server is back. */
  retryNow(): void {
    for (const failure of this.#failures.values()) failure.retryAtMs = -Infinity;
    this.refresh();
  }

  /** Something may have changed. */
  refresh(): void {
    this.#wakeup.wake();
  }

  /** Keeps them until the signal aborts; resolves then. They stay: the pods do, too. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#reconcile(signal);
      await this.#wakeup.wait(this.#options.clock, LOOK_MS, signal).catch(() => undefined);
    }
  }

  #lose(pod: NamedApiPod): void {
    const { uid } = pod.metadata;
    this.#kept.delete(uid);
    const name = fullName(pod.metadata);
    if (this.#mirrors.get(name)?.metadata.uid === uid) {
      const left = [...this.#options.known.all()].filter(
        (each) => isMirrorPod(each) && fullName(each.metadata) === name,
      );
      const [newest] = left.sort((one, other) => (isOlder(one, other) ? 1 : -1));
      if (newest === undefined) this.#mirrors.delete(name);
      else this.#mirrors.set(name, newest);
    } else {
      // It may have been in the way.
      const failure = this.#failures.get(name);
      if (failure === undefined) return;
      failure.retryAtMs = -Infinity;
    }
    this.refresh();
  }

  async #reconcile(signal: AbortSignal): Promise<void> {
    const { agent, known } = this.#options;
    const wanted = agent.staticPods();
    if (wanted === undefined || !known.isComplete) return;
    this.#uids = new Map(wanted.map(({ metadata }) => [fullName(metadata), metadata.uid]));
    this.#names = new Map(wanted.map(({ metadata }) => [metadata.uid, fullName(metadata)]));
    for (const pod of wanted) {
      const name = fullName(pod.metadata);
      const keep = async (): Promise<void> => this.#keep(pod, this.#mirrors.get(name), signal);
      await this.#attempt(name, signal, keep, pod.metadata);
    }
    const ending = new Set(
      [...agent.statuses()].filter(({ pod }) => !agent.isFinished(pod.uid)).map(({ pod }) => fullName(pod)),
    );
    for (const [name, mirror] of [...this.#mirrors]) {
      if (this.#uids.has(name) || ending.has(name)) continue;
      await this.#attempt(name, signal, async () => this.#delete(mirror, signal));
    }
    for (const name of this.#failures.keys()) {
      if (!this.#uids.has(name) && !this.#mirrors.has(name)) this.#failures.delete(name);
    }
  }

  /** What cannot be done for one keeps none of the others from it. */
  async #attempt(
    name: string,
    signal: AbortSignal,
    work: () => Promise<void>,
    staticPod?: PodRef,
  ): Promise<void> {
    const { clock, events } = this.#options;
    const failure = this.#failures.get(name);
    if (isAborted(signal) || (failure !== undefined && clock.monotonicMs() < failure.retryAtMs)) return;
    try {
      await work();
      this.#failures.delete(name);
    } catch (error) {
      if (isAborted(signal)) return;
      const backoff =
        failure?.backoff ?? new Backoff({ initialMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS, jitter: 0.2 });
      const delayMs = backoff.nextMs();
      const message = `The API server does not take the mirror pod: ${messageOf(error)}`;
      const isNews = staticPod !== undefined && isRefusal(error) && failure?.told !== message;
      if (isNews) events.record(staticPod, { type: 'Warning', reason: FAILED_MIRROR_POD, message });
      const told = isNews ? message : (failure?.told ?? '');
      this.#failures.set(name, { backoff, retryAtMs: clock.monotonicMs() + delayMs, told });
      this.#logger.error('Failed to keep the mirror pod', error, {
        ...{ pod: name, retryInMs: Math.round(delayMs) },
      });
    }
  }

  async #keep(pod: NodePod, mirror: NamedApiPod | undefined, signal: AbortSignal): Promise<void> {
    const { client, known } = this.#options;
    if (mirror !== undefined) {
      const { metadata } = mirror;
      const isCurrent = this.#isSame(pod, mirror) && !this.#isAliveAgain(pod, mirror);
      if (isCurrent && metadata.deletionTimestamp === undefined) return;
      await this.#delete(mirror, signal);
      // Somebody has a finalizer on it: another one can be made when it is gone.
      if (known.find(metadata.uid) !== undefined) return;
    }
    const node = this.#options.node();
    // What belongs to nobody would stay for ever.
    if (node?.metadata?.uid === undefined || node.metadata.deletionTimestamp !== undefined) return;
    const { uid, namespace, name } = pod.metadata;
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
    this.#logger.info(
      'Creating a mirror pod for static pod',
      { pod: { uid, namespace, name }, podUID: uid },
      2,
    );
    try {
      const made = await client.request<unknown>({
        ...{ method: 'POST', path, body: toMirrorPod(pod, node), isUrgent: true, signal },
      });
      known.found(asPod(made));
    } catch (error) {
      if (!(error instanceof ApiError && error.reason === 'AlreadyExists')) throw error;
      await this.#takeUp(pod, node, signal);
    }
  }

  /** A mirror pod that is there and was not shown yet is as good as one that was made; anything else is in the way. */
  async #takeUp({ metadata }: NodePod, node: ApiNode, signal: AbortSignal): Promise<void> {
    const { client, known } = this.#options;
    const what = `pod ${fullName(metadata)} is there already and is no mirror pod of this node`;
    const there = await this.#unlessGone(async () => {
      const answer = await client
        .request<unknown>({ method: 'GET', path: pathOf(metadata), isUrgent: true, signal })
        .catch((error: unknown) => {
          // A node is shown its own pods alone.
          throw isAnswer(error, 403) ? new ApiError(403, error.reason, what) : error;
        });
      return asPod(answer);
    });
    if (there === undefined) return;
    if (!isMirrorPod(there) || there.spec?.nodeName !== node.metadata?.name) {
      throw new ApiError(409, 'AlreadyExists', `${what} (uid ${there.metadata.uid})`);
    }
    known.found(there);
  }

  /** Once it was, what somebody changes of the mirror pod makes no other of it. */
  #isSame(pod: NodePod, mirror: NamedApiPod): boolean {
    const { uid, annotations } = mirror.metadata;
    const version = versionOfStatic(pod.metadata.annotations);
    if (versionOfStatic(annotations) === version || this.#kept.get(uid) === version) return true;
    if (!isKubeletsMirrorOf(mirror, pod)) return false;
    this.#kept.set(uid, version);
    return true;
  }

  /** What was told to have failed stays so: of a static pod that was rejected and runs after all there is another mirror. */
  #isAliveAgain({ metadata: { uid } }: NodePod, mirror: NamedApiPod): boolean {
    const own = this.#options.agent.findStatus(uid);
    return own !== undefined && hasEndedThere(mirror) && !isTerminalPhase(own.status.phase);
  }

  async #delete(mirror: NamedApiPod, signal: AbortSignal): Promise<void> {
    const { client, known } = this.#options;
    const { uid, deletionTimestamp, deletionGracePeriodSeconds, finalizers = [] } = mirror.metadata;
    // Everything was said already.
    if (deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length > 0) return;
    const left = await this.#unlessGone<ApiPod>(async () => {
      const answer = await client.request<unknown>({
        ...{ method: 'DELETE', path: pathOf(mirror.metadata), isUrgent: true, signal },
        body: { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid } },
      });
      return isRecord(answer) && answer['kind'] === 'Status' ? {} : asPod(answer);
    });
    if (left?.metadata?.uid === uid && (left.metadata.finalizers ?? []).length > 0) {
      known.update(left);
      return;
    }
    this.#logger.info('Deleted a mirror pod', { pod: refOf(mirror) }, 2);
    known.end(mirror);
  }

  /** Undefined when there is no such pod, or another one has its name. */
  async #unlessGone<T>(ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask();
    } catch (error) {
      if (isAnswer(error, 404, 409)) return undefined;
      throw error;
    }
  }
}

/** Throws for what is none: nothing follows from it, and not that there is no pod. */
function asPod(answer: unknown): NamedApiPod {
  const pod = (isRecord(answer) ? answer : {}) as ApiPod;
  if (!isNamed(pod)) throw new TypeError('the answer is no pod');
  return pod;
}

/** The mirror pod of a static pod. Pure. Its uid is the API server's to give. */
function toMirrorPod(pod: NodePod, { metadata: node }: ApiNode): object {
  const { uid, ...metadata } = pod.metadata;
  const annotations = {
    ...metadata.annotations,
    [MIRROR_ANNOTATION]: metadata.annotations?.[STATIC_POD_ANNOTATIONS.uid] ?? uid,
  };
  const owner = { apiVersion: 'v1', kind: 'Node', name: node?.name, uid: node?.uid, controller: true };
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      ...{ name: metadata.name, namespace: metadata.namespace },
      ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
      ...{ annotations, ownerReferences: [owner] },
    },
    spec: { ...withoutGates(pod.spec), tolerations: mirrorTolerations(pod) },
  };
}

/** A pod that is on a node cannot have any. */
function withoutGates({ schedulingGates: _gates, ...spec }: NodePod['spec']): NodePod['spec'] {
  return spec;
}

function fullName({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

/** Whether the API server has said no, which another try alone does not change. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    error.code >= 400 &&
    error.code < 500 &&
    ![401, 408, 429].includes(error.code)
  );
}

/** Asked by a function: it may have aborted while something was waited for. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
