import {
  type ContainerStatus,
  type ObservedContainer,
  type ObservedPod,
  type ObservedState,
  type PodStatus,
  type Runtime,
  type RuntimeEvent,
  type SandboxStatus,
  type EventStatuses,
} from '../watch/observed/runtime.js';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { CallGate } from './call-gate.js';
import { FakeEventStream } from './fake-event-stream.js';
import { FakePods } from './fake-pods.js';

/** What {@link FakeRuntime} is made of. */
export interface FakeRuntimeOptions {
  /** For delays and timestamps (default: the machine's own). */
  readonly clock?: Clock;
  /** Whether the runtime has an event stream at all (default: true). */
  readonly events?: boolean;
  /**
   * Whether each change made through the `set…` and `remove…` methods is announced on that stream (default: false).
   * `with statuses`: and what was known of the pod then.
   */
  readonly announce?: boolean | 'with statuses';
  /** See {@link Runtime.eventsReachAll}. */
  readonly eventsReachAll?: boolean;
  /** Called at the start of each call, before anything delays it. */
  readonly onCall?: (call: FakeCall) => void;
}

/** A call that a {@link FakeRuntime} received. */
export interface FakeCall {
  readonly operation: 'listPods' | 'findPod' | 'getPodStatus' | 'watchEvents';
  /** Of the pod asked for, where one was. */
  readonly uid: string | undefined;
}

/**
 * A runtime that holds the pods a test puts into it, and is slow, broken or silent when the test wants it to be.
 *
 * Answers show the state at the time of the answer, or of the call after {@link answerAsAsked}. While nothing in a pod
 * changes, each list holds the same object for it.
 */
export class FakeRuntime implements Runtime {
  readonly #clock: Clock;
  readonly #onCall: (call: FakeCall) => void;
  readonly #pods: FakePods;
  readonly #statusCalls = new Map<string, number>();
  readonly #listGate: CallGate;
  readonly #statusGate: CallGate;
  readonly #gatesOfPods = new Map<string, { find: CallGate; status: CallGate }>();
  #listCalls = 0;
  #findCalls = 0;
  #statusCallsInAll = 0;
  #statusCallsInFlight = 0;
  #mostStatusCallsInFlight = 0;
  #answersAsAsked = false;

  /** What the readers of events get, and whether they stay connected. */
  readonly events = new FakeEventStream();
  readonly watchEvents?: NonNullable<Runtime['watchEvents']>;
  readonly eventsReachAll: boolean;

  constructor(options: FakeRuntimeOptions = {}) {
    this.#clock = options.clock ?? new SystemClock();
    this.#onCall = options.onCall ?? (() => undefined);
    this.#pods = new FakePods({
      clock: this.#clock,
      onChange: (event) => {
        const { announce = false } = options;
        if (announce === false) return;
        const statuses = announce === true ? undefined : this.toldStatuses(event.podUid ?? '');
        this.events.emit({ ...event, ...(statuses && { statuses: () => statuses }) });
      },
    });
    this.#listGate = new CallGate({ clock: this.#clock });
    this.#statusGate = new CallGate({ clock: this.#clock });
    this.eventsReachAll = options.eventsReachAll ?? false;
    if (options.events !== false) {
      this.watchEvents = async (handlers, signal) => {
        this.#onCall({ operation: 'watchEvents', uid: undefined });
        await this.events.watch(handlers, signal);
      };
    }
  }

  // --- what the code under test calls ---

  async listPods(signal?: AbortSignal): Promise<readonly ObservedPod[]> {
    this.#listCalls++;
    this.#onCall({ operation: 'listPods', uid: undefined });
    const asAsked = this.#answersAsAsked ? this.#pods.list() : undefined;
    await this.#listGate.pass(signal);
    return asAsked ?? this.#pods.list();
  }

  async findPod(uid: string, signal?: AbortSignal): Promise<ObservedPod | undefined> {
    this.#findCalls++;
    this.#onCall({ operation: 'findPod', uid });
    const [isAsAsked, asAsked] = [this.#answersAsAsked, this.#pods.find(uid)];
    await this.#gatesOfPods.get(uid)?.find.pass(signal);
    await this.#listGate.pass(signal);
    return isAsAsked ? asAsked : this.#pods.find(uid);
  }

  async getPodStatus(pod: ObservedPod, signal?: AbortSignal): Promise<PodStatus> {
    this.#statusCalls.set(pod.uid, this.statusCalls(pod.uid) + 1);
    this.#statusCallsInAll++;
    this.#statusCallsInFlight++;
    this.#mostStatusCallsInFlight = Math.max(this.#mostStatusCallsInFlight, this.#statusCallsInFlight);
    try {
      this.#onCall({ operation: 'getPodStatus', uid: pod.uid });
      const asAsked = this.#answersAsAsked ? this.#pods.statusOf(pod) : undefined;
      await this.#statusGate.pass(signal);
      await this.#gatesOfPods.get(pod.uid)?.status.pass(signal);
      return asAsked ?? this.#pods.statusOf(pod);
    } finally {
      this.#statusCallsInFlight--;
    }
  }

  // --- what the test puts in ---

  /** Puts a pod in, or another in place of the one of that uid. */
  setPod(pod: ObservedPod): void {
    this.#pods.set(pod);
  }

  /** Puts these pods in and takes all others out. */
  setPods(pods: readonly ObservedPod[]): void {
    this.#pods.setAll(pods);
  }

  /** Takes a pod out with all that is in it. */
  removePod(uid: string): void {
    this.#pods.remove(uid);
  }

  /**
   * Brings a container into a state; `facts` is what its status says beyond that, as `{ exitCode: 3 }`. A name
   * means the newest container of that name; a new name or a new `facts.attempt` makes a container.
   */
  setContainer(
    uid: string,
    nameOrId: string,
    state: ObservedState,
    facts?: Partial<ContainerStatus>,
  ): ObservedContainer {
    return this.#pods.setContainer(uid, nameOrId, state, facts);
  }

  /** Takes a container out, by id or the newest of that name. The pod stays, empty or not. */
  removeContainer(uid: string, nameOrId: string): void {
    this.#pods.removeContainer(uid, nameOrId);
  }

  /** Brings a sandbox into a state (running is ready): the newest, or the one of `facts.id`, made if it is new. */
  setSandbox(uid: string, state: ObservedState, facts?: Partial<SandboxStatus>): ObservedContainer {
    return this.#pods.setSandbox(uid, state, facts);
  }

  /** Takes a sandbox out and leaves its containers. */
  removeSandbox(uid: string, id: string): void {
    this.#pods.removeSandbox(uid, id);
  }

  /** What an event would tell of a pod now: its newest sandbox and what is in that; undefined without a sandbox. */
  toldStatuses(uid: string): EventStatuses | undefined {
    const pod = this.#pods.find(uid);
    const status = pod && this.#pods.statusOf(pod);
    const [sandbox, ...older] = status?.sandboxes ?? [];
    if (status === undefined || sandbox === undefined) return undefined;
    const isOfOlder = (container: ContainerStatus): boolean =>
      older.some(({ id }) => id === container.sandboxId);
    return {
      sandboxes: [sandbox],
      containers: status.containers.filter((container) => !isOfOlder(container)),
    };
  }

  // --- what goes wrong ---

  /** Lists of all pods and of one reject with `error` from now on; undefined ends that. */
  failList(error: Error | undefined): void {
    this.#listGate.fail(error);
  }

  /** Lists of all pods and of one hang from now on; the function returned lets them go. */
  hangList(): () => void {
    return this.#listGate.hang();
  }

  /** Answers to calls from now on show the state at the time of the call: a slow one shows what is over. False ends that. */
  answerAsAsked(asAsked = true): void {
    this.#answersAsAsked = asAsked;
  }

  /** Lists of all pods and of one take that long from now on. */
  delayList(ms: number): void {
    this.#listGate.delay(ms);
  }

  /** Lists of this one pod reject with `error` from now on; undefined ends that. */
  failFind(uid: string, error: Error | undefined): void {
    this.#gatesOf(uid).find.fail(error);
  }

  /** Lists of this one pod hang from now on; the function returned lets them go. */
  hangFind(uid: string): () => void {
    return this.#gatesOf(uid).find.hang();
  }

  /** Statuses of this pod reject with `error` from now on; undefined ends that. */
  failStatus(uid: string, error: Error | undefined): void {
    this.#gatesOf(uid).status.fail(error);
  }

  /** Statuses of this pod hang from now on; the function returned lets them go. */
  hangStatus(uid: string): () => void {
    return this.#gatesOf(uid).status.hang();
  }

  /** Statuses of this pod, or of every pod, take that long from now on. */
  delayStatus(ms: number, uid?: string): void {
    (uid === undefined ? this.#statusGate : this.#gatesOf(uid).status).delay(ms);
  }

  // --- the event stream, in short ---

  /** Hands an event to every reader, synchronously. */
  emitEvent(event: RuntimeEvent): void {
    this.events.emit(event);
  }

  /** Ends every event stream in order. */
  endEvents(): void {
    this.events.end();
  }

  /** Breaks every event stream with `error`. */
  breakEvents(error: Error): void {
    this.events.break(error);
  }

  /** Refuses new readers of events with `error`; undefined ends that. */
  refuseEvents(error: Error | undefined): void {
    this.events.refuse(error);
  }

  // --- what the test asks ---

  /** How many are reading events now. */
  get eventReaders(): number {
    return this.events.readers;
  }

  /** Lists of all pods so far. */
  get listCalls(): number {
    return this.#listCalls;
  }

  /** Lists of one pod so far. */
  get findCalls(): number {
    return this.#findCalls;
  }

  /** Status calls so far, of one pod or in all. */
  statusCalls(uid?: string): number {
    return uid === undefined ? this.#statusCallsInAll : (this.#statusCalls.get(uid) ?? 0);
  }

  /** Status calls that have not been answered. */
  get statusCallsInFlight(): number {
    return this.#statusCallsInFlight;
  }

  /** The most status calls that were ever in flight at once. */
  get mostStatusCallsInFlight(): number {
    return this.#mostStatusCallsInFlight;
  }

  #gatesOf(uid: string): { find: CallGate; status: CallGate } {
    let gates = this.#gatesOfPods.get(uid);
    if (!gates) {
      gates = { find: new CallGate({ clock: this.#clock }), status: new CallGate({ clock: this.#clock }) };
      this.#gatesOfPods.set(uid, gates);
    }
    return gates;
  }
}
