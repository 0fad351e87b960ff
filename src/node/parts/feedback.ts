import { type NodePod } from '#kube/pod/node-pod.js';
import { type ClaimSpec } from '#kube/workloads/workload.js';
import { type ObjectChange } from '../desired/config-objects.js';
import { type ResizeObstacle } from '../pods/admission/admit-pod.js';

/** Passes on what an earlier part reports to later ones; it is made before both. */
export class Notifier<Message = void> {
  readonly #name: string;
  readonly #listeners = new Set<(message: Message) => void>();

  /** `name`: for the error when nobody listens. */
  constructor(name: string) {
    this.#name = name;
  }

  /** Calls each listener, in the order in which they came. Throws when there is none: it would be lost. */
  notify(message: Message): void {
    if (this.#listeners.size === 0) throw new Error(`nobody listens yet: ${this.#name}`);
    for (const listener of [...this.#listeners]) listener(message);
  }

  /** Calls `listener` for each message until the returned function is called. */
  subscribe(listener: (message: Message) => void): () => void {
    // The same function may listen twice.
    const own = (message: Message): void => listener(message);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }
}

/** Passes a question of an earlier part on to a later one; it is made before both. */
export class Question<Subject, Answer> {
  readonly #name: string;
  #answer: ((subject: Subject) => Answer) | undefined;

  /** `name`: for the error when nobody answers. */
  constructor(name: string) {
    this.#name = name;
  }

  /** The answer of the part that knows it. Throws while there is none. */
  ask(subject: Subject): Answer {
    if (this.#answer === undefined) throw new Error(`nobody answers yet: ${this.#name}`);
    return this.#answer(subject);
  }

  /** From now on questions are answered by this. Once. */
  answerWith(answer: (subject: Subject) => Answer): void {
    if (this.#answer !== undefined) throw new Error(`somebody answers already: ${this.#name}`);
    this.#answer = answer;
  }
}

/** A claim that pods of a workload will need, or that a manifest has. */
interface DeclaredClaim {
  readonly claim: { readonly namespace: string; readonly name: string };
  readonly spec: ClaimSpec;
}

/** What is left of a pod. */
export interface PodRemains {
  /** That it ended is on the disk. */
  readonly isEnded: boolean;
  /** No source wants it, and nothing of it runs. */
  readonly isGone: boolean;
}

/**
 * What flows against the order of the parts of an agent: earlier ones report here what later ones act on.
 *
 * It is made before all of them, so that no part needs one that does not exist yet.
 */
export class Feedback {
  /** Pods by uid, of which something has changed that they refer to or show. */
  readonly syncSoon = new Notifier<readonly string[]>('pods to sync soon');
  /** Something can be cleaned up. */
  readonly housekeepSoon = new Notifier('housekeeping');
  /** ConfigMaps or Secrets of a source have changed. */
  readonly objectsChanged = new Notifier<ObjectChange>('changed objects');
  /** What is wanted of pods beside their manifests has changed: it has to be computed again. */
  readonly stopsChanged = new Notifier('changed stops');
  /** A stopped pod may run again: nothing of its former life counts. */
  readonly podReleased = new Notifier<string>('released pods');
  /** What a pod waited for is available to its volumes. */
  readonly volumesReady = new Notifier<string>('ready volumes');
  /** Whether all of a pod has ended has changed. */
  readonly podEndChanged = new Notifier<string>('ends of pods');
  /** All work on a pod is done. */
  readonly podFinished = new Notifier<string>('finished pods');
  /** No other owner has a pod any more. */
  readonly podFree = new Notifier<NodePod>('free pods');
  /** What kept pods away is over: they are judged again. */
  readonly judgeSoon = new Notifier('refused pods');
  /** A claim that pods will need. */
  readonly claimDeclared = new Notifier<DeclaredClaim>('declared claims');
  /** What is left of a pod. */
  readonly podRemains = new Question<string, PodRemains>('what is left of pods');
  /** Why a pod does not have the resources of its last edit; undefined when it has. */
  readonly resizeObstacle = new Question<string, ResizeObstacle | undefined>('pending resizes');
  /** The addresses of the node's name servers. */
  readonly nameServers = new Question<void, readonly string[]>('name servers of the node');
  /** Whether the runtime has pods of this agent. */
  readonly hasPods = new Question<void, boolean>('pods of the runtime');
  /** Whether a pod may start again, after its former life. */
  readonly readmit = new Question<NodePod, boolean>('admission');
}
