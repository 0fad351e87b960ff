/**
 * A machine as a node of a Kubernetes cluster: its Node object and its lease.
 *
 * In: what the machine and the agent are, from ports, and an API server. Out: a Node that says so, from the moment at
 * which it can be reached, and a lease that shows that the agent lives. Pods are none of its business.
 *
 * ```
 * facts ─┐                         ┌─► registration, once
 * health ┼─► computeNodeStatus ────┼─► status: on change, or every 5 min
 * pressure ┘                       └─► (lease, every 10 s, knows none of this)
 * ```
 *
 * It assumes that nobody else is the node of this name, and tells when somebody is. A Node that is deleted while the agent runs is not made again by
 * it, as with a kubelet: whoever deletes a Node wants it gone, and a restart brings it back. When somebody else
 * makes it again, it is taken up.
 *
 * Source: https://kubernetes.io/docs/concepts/architecture/nodes/
 *
 * @module
 */
import { setMaxListeners } from 'node:events';
import { abortable } from '#base/async/abortable.js';
import { type Clock } from '#base/time/clock.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { type Logger } from '#base/log/logger.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { nodeConnectionDropped, nodeRegistrationStepped } from '#base/channels/node-channels.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { type KubeClient } from '../client/kube-client.js';
import { type FollowedState } from '../watch/reflector.js';
import { type NodePressure } from './compute-node-conditions.js';
import { computeInitialNode } from './compute-initial-node.js';
import { computeNodeStatus, type NodeFacts } from './compute-node-status.js';
import { addressesForCloud, internalIps, mergeAddresses } from './node-addresses.js';
import { adoptInTheEnd } from './node-adoption.js';
import { isGone, NodeApi } from './node-api.js';
import { NodeFactsWatch } from './node-facts-watch.js';
import { NodeLease } from './node-lease.js';
import { type NodeAddress, type NodeObject } from './node-object.js';
import { type NodeEvent, type NodeFactsPort, type NodeHealthPort } from './node-ports.js';
import { registerNode } from './node-registration.js';
import { type NodeSettings } from './node-settings.js';
import { NodeStatusReporter } from './node-status-reporter.js';
import { OwnNode } from './own-node.js';
import { DuplicateNodeDetector } from './duplicate-node-detector.js';
import { type EvictionThreshold } from '#kube/node/eviction-thresholds.js';
import { type Supplies } from '#kube/node/node-supplies.js';
import { DEFAULT_TRANSITION_PERIOD_MS, PressureWatch, type SupplyReaders } from './pressure-watch.js';

/** What {@link ClusterNode} needs. */
export interface ClusterNodeOptions extends Publisher {
  readonly settings: NodeSettings;
  /** For heartbeats alone: its connection is dropped when they fail again and again. */
  readonly client: KubeClient;
  /** For all else. */
  readonly api: KubeClient;
  /** Drops the connection of `client`; the next request makes another. */
  readonly dropConnection: () => void;
  readonly facts: NodeFactsPort;
  readonly health: NodeHealthPort;
  readonly pressure: {
    readonly readers: SupplyReaders;
    /** What makes a condition, and what is kept back from pods. */
    readonly hard: readonly EvictionThreshold[];
    /** What makes a condition only. */
    readonly soft: readonly EvictionThreshold[];
    /** Default: 5 min. */
    readonly transitionPeriodMs?: number;
    /** Called with what the look at it that comes every ten seconds has found. */
    readonly onLooked?: (supplies: Supplies) => void;
  };
  /** Takes events about the Node. */
  readonly onEvent: (event: NodeEvent) => void;
  /** The API server was reached: the first time, and again after heartbeats had failed. */
  readonly onReached?: () => void;
  /** It was restored from a backup: what was seen since then may never have been. */
  readonly onRestored?: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

/** Facts of the machine are there within milliseconds. */
const FIRST_LOOK_LIMIT_MS = 1_000;

/** See the comment of this module. */
export class ClusterNode {
  readonly #options: ClusterNodeOptions;
  readonly #facts: NodeFactsWatch;
  readonly #pressure: PressureWatch;
  readonly #reporter: NodeStatusReporter;
  readonly #lease: NodeLease;
  /** Over the connection of heartbeats. */
  readonly #api: NodeApi;
  /** What may take long: it holds up no heartbeat, and none drops its connection. */
  readonly #registering: NodeApi;
  readonly #own: OwnNode;
  readonly #rivals: DuplicateNodeDetector;
  readonly #registered: Promise<void>;
  #resolveRegistered: () => void = () => undefined;
  readonly #listeners = new Set<(node: NodeObject | undefined) => void>();
  #isOfKubeletHere: boolean | undefined;
  #wasCordoned = false;
  #wasGone = false;
  #droppedAtMs = -Infinity;

  constructor(options: ClusterNodeOptions) {
    this.#options = options;
    this.#registered = new Promise((resolve) => (this.#resolveRegistered = resolve));
    const { settings, client, facts, pressure, onEvent, channels, clock, logger, random } = options;
    const { name, statusUpdateFrequencyMs, statusReportFrequencyMs, leaseDurationMs } = settings;
    const common = { channels, clock, logger, ...(random === undefined ? {} : { random }) };
    const timeoutMs = Math.min(statusUpdateFrequencyMs, leaseDurationMs);
    const drop = (because: 'status' | 'lease') => () => this.#dropConnection(because, timeoutMs);
    this.#rivals = new DuplicateNodeDetector({ nodeName: name, onEvent, clock, logger });
    this.#facts = new NodeFactsWatch({
      ...{ port: facts, hardThresholds: pressure.hard, clock, logger },
      hasVolumesInUse: () => (this.#own.seen?.status.volumesInUse ?? []).length > 0,
    });
    this.#pressure = new PressureWatch({
      ...{
        channels,
        clock,
        logger,
        readers: pressure.readers,
        thresholds: [...pressure.hard, ...pressure.soft],
      },
      transitionPeriodMs: pressure.transitionPeriodMs ?? DEFAULT_TRANSITION_PERIOD_MS,
      onChange: () => this.#reporter.wake(),
      onLooked: pressure.onLooked,
    });
    this.#api = new NodeApi(client, name, timeoutMs);
    this.#registering = new NodeApi(options.api, name, timeoutMs);
    this.#own = new OwnNode({
      ...{ name, client: options.api, clock, logger },
      onChange: (node) => this.#onNodeChange(node),
    });
    this.#reporter = new NodeStatusReporter({
      ...common,
      dropConnection: drop('status'),
      api: this.#api,
      nodeName: name,
      compute: (node) => this.#compute(node),
      updateFrequencyMs: statusUpdateFrequencyMs,
      reportFrequencyMs: statusReportFrequencyMs,
      latest: () => this.#own.watched,
      seenVersion: () => this.#own.seen?.metadata.resourceVersion,
      onNode: (node) => {
        if (node === undefined) this.#own.lose();
        else this.#own.take(node);
      },
      onEvent,
    });
    this.#lease = new NodeLease({
      ...{ ...common, client, leaseDurationMs, nodeName: name },
      dropConnection: drop('lease'),
      timeoutMs: Math.min(timeoutMs, leaseDurationMs / 4),
      nodeUid: () => this.#own.seen?.metadata.uid,
      findNodeUid: async (signal) => {
        try {
          return (await this.#api.get(signal)).metadata.uid;
        } catch (error) {
          if (isGone(error)) return undefined;
          throw error;
        }
      },
      onForeignRenewal: (renewTime) => this.#rivals.noteForeignRenewal(renewTime),
      onRecovered: () => {
        this.#own.retryNow();
        this.#reporter.wake();
        options.onReached?.();
      },
      onRestored: () => {
        this.#own.listAgain();
        options.onRestored?.();
      },
    });
  }

  /** The Node as it was seen last; undefined before the first time, and once it was deleted. */
  get node(): NodeObject | undefined {
    return this.#own.seen;
  }

  /** Whether a kubelet on this very machine kept the Node until it was taken up; undefined before that. */
  get isOfKubeletHere(): boolean | undefined {
    return this.#isOfKubeletHere;
  }

  /** Takes in the Node as the API server has sent it to somebody else, unless something newer was seen. */
  take(node: NodeObject): void {
    this.#own.take(node);
  }

  /** How the watch of the Node gets on. */
  get watch(): FollowedState {
    return this.#own.state;
  }

  /** The addresses of the machine from the last lookup, with those that others have set; undefined before the first. */
  get addresses(): readonly NodeAddress[] {
    const { addresses } = this.#facts.facts();
    if (addresses === undefined) return [];
    const previous = this.#own.seen?.status.addresses ?? [];
    const { cloud } = this.#options.settings;
    if (cloud === undefined) return mergeAddresses(previous, addresses);
    return addressesForCloud(previous, addresses, cloud.nodeIp);
  }

  /**
   * The node's addresses for pods: as last looked up, else as the Node has them; none before. Those of the Node go first where the
   * controller of a cloud sets them.
   */
  get ips(): readonly string[] {
    const found = internalIps(this.#facts.facts().addresses ?? []);
    const given = internalIps(this.#own.seen?.status.addresses ?? []);
    const [first, second] = this.#options.settings.cloud === undefined ? [found, given] : [given, found];
    return first.length > 0 ? first : second;
  }

  /** Looks up the addresses before all else is, for a second at most. Rejects only when aborted. */
  async findAddresses(signal: AbortSignal): Promise<void> {
    await settlesWithin(this.#facts.refreshAddresses(signal), FIRST_LOOK_LIMIT_MS, this.#options.clock);
    signal.throwIfAborted();
  }

  /** What the node is short of now. */
  get pressure(): NodePressure {
    return this.#pressure.pressure();
  }

  /** Measures what is left, beside the looks that come every ten seconds. Rejects only when aborted. */
  async measureSupplies(signal: AbortSignal): Promise<Supplies> {
    return await this.#pressure.look(signal);
  }

  /** Calls `listener` with each version of the Node that is seen, and when it is gone, until the returned function is called. */
  onNode(listener: (node: NodeObject | undefined) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when the Node is there; rejects with the signal's reason. */
  async whenRegistered(signal: AbortSignal): Promise<void> {
    await abortable(this.#registered, signal);
  }

  /** Something may have changed that the Node reports, such as the port of the server: checks at once. */
  wake(): void {
    this.#reporter.wake();
  }

  /** Registers the node and keeps it true until the signal aborts; resolves then. */
  async run(signal: AbortSignal): Promise<void> {
    const { health } = this.#options;
    const link = linkAbort(signal);
    // Every part waits on it; that is no leak.
    setMaxListeners(0, link.signal);
    const stopListening = health.onChange(() => this.#onHealthChange(link.signal));
    try {
      await this.#runParts(link.signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      stopListening();
      link.abort();
      link.unlink();
    }
  }

  async #runParts(signal: AbortSignal): Promise<void> {
    const { clock, settings } = this.#options;
    // The first version of a Node has the facts of its machine, unless a reading hangs.
    const first = Promise.all([this.#facts.refreshMachine(signal), this.#pressure.look(signal)]);
    await settlesWithin(first, FIRST_LOOK_LIMIT_MS, clock);
    signal.throwIfAborted();
    await Promise.all([
      this.#facts.run(settings.statusUpdateFrequencyMs, () => this.#reporter.wake(), signal),
      this.#pressure.run(signal),
      this.#beThere(signal),
    ]);
  }

  async #beThere(signal: AbortSignal): Promise<void> {
    const { settings, clock, logger, onEvent } = this.#options;
    let events: readonly NodeEvent[] = [];
    publishTo(this.#options.channels, nodeRegistrationStepped, { step: 'attempt', atMs: clock.now() });
    const { node, isNew, isOfKubeletHere, toAdopt } = await registerNode(
      {
        ...{ api: this.#registering, name: settings.name, register: settings.register, clock, logger },
        computeInitial: () => {
          const initial = computeInitialNode(settings, this.#allFacts(), clock.now());
          events = initial.events;
          return initial.node;
        },
      },
      signal,
    );
    publishTo(this.#options.channels, nodeRegistrationStepped, {
      step: 'registered',
      atMs: clock.now(),
      isNew,
    });
    if (isNew) for (const event of events) onEvent(event);
    this.#isOfKubeletHere = isOfKubeletHere;
    this.#own.take(node);
    this.#resolveRegistered();
    this.#options.onReached?.();
    await Promise.all([
      this.#reporter.run(signal),
      this.#lease.run(signal),
      this.#own.run(signal),
      toAdopt && this.#adopt(toAdopt, signal),
    ]);
  }

  async #adopt(initial: NodeObject, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    const options = {
      ...{ api: this.#registering, initial, clock, logger },
      latest: () => this.#own.seen,
      onNode: (node: NodeObject) => this.#own.take(node),
    };
    await adoptInTheEnd(options, signal);
  }

  /**
   * What is on its way over the connection fails with it, of the other heartbeat as well: so a new one is given the time
   * of one request before it is dropped, too.
   */
  #dropConnection(because: 'status' | 'lease', leastMs: number): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#droppedAtMs < leastMs) return;
    this.#droppedAtMs = nowMs;
    publishTo(this.#options.channels, nodeConnectionDropped, { because });
    this.#options.dropConnection();
  }

  /** The Node may be told something else at once; what the runtime could not be asked for before is asked for now. */
  #onHealthChange(signal: AbortSignal): void {
    this.#reporter.wake();
    if (this.#facts.facts().runtime !== undefined || signal.aborted) return;
    const wake = (): void => this.#reporter.wake();
    this.#facts.refreshRuntime(signal).then(wake, () => undefined);
  }

  #compute(node: NodeObject): { readonly node: NodeObject; readonly events: readonly NodeEvent[] } {
    const { settings, clock } = this.#options;
    const facts = this.#allFacts();
    const { status, events } = computeNodeStatus(node, facts, settings, clock.now());
    const { operatingSystem: os, architecture: arch } = facts.machine ?? {};
    const labels = {
      ...node.metadata.labels,
      ...(os === undefined ? {} : { 'kubernetes.io/os': os }),
      ...(arch === undefined ? {} : { 'kubernetes.io/arch': arch }),
    };
    return {
      node: { ...node, metadata: { ...node.metadata, labels }, status },
      events: [...events, ...this.#rebootOf(node, facts)],
    };
  }

  #rebootOf({ status }: NodeObject, { machine }: NodeFacts): NodeEvent[] {
    const before = status.nodeInfo?.bootID ?? '';
    const { bootID = '' } = machine ?? {};
    // A machine cannot be restarted under its agent: it must be another machine.
    if (before === '' || bootID === '' || before === bootID || this.#rivals.isOurs) return [];
    const message = `Node ${this.#options.settings.name} has been rebooted, boot id: ${bootID}`;
    return [{ type: 'Warning', reason: 'Rebooted', message }];
  }

  #allFacts(): NodeFacts {
    const pressure = this.#pressure.pressure();
    return { ...this.#facts.facts(), pressure, health: this.#options.health.health() };
  }

  #onNodeChange(node: NodeObject | undefined): void {
    if (node !== undefined) {
      this.#logCordon(node);
      this.#rivals.noteNode(node, this.#facts.facts().machine);
    }
    // The control plane has had no sign of life and has given up on us: here is one.
    const isGivenUp =
      node?.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'Unknown') === true;
    if (node === undefined || this.#wasGone || isGivenUp) this.#reporter.wake();
    this.#wasGone = node === undefined;
    for (const listener of this.#listeners) listener(node);
  }

  #logCordon({ spec }: NodeObject): void {
    const { settings, onEvent } = this.#options;
    const isCordoned = spec.unschedulable === true;
    if (isCordoned === this.#wasCordoned) return;
    this.#wasCordoned = isCordoned;
    const reason = isCordoned ? 'NodeNotSchedulable' : 'NodeSchedulable';
    onEvent({ type: 'Normal', reason, message: `Node ${settings.name} status is now: ${reason}` });
  }
}
