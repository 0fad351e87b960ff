/**
 * The history of a node agent: it listens to every part of this agent, turns events into records, and stores them in the
 * root folder.
 *
 * In: lifecycle events, results of probes, and what the parts publish on the agent's channels. Out: the
 * records, to be read and followed. No part waits for it, as it only records.
 *
 * @module
 */
import { type Channels } from '#base/channels/publishing-channel.js';
import {
  CallRecords,
  hideInRecord,
  historyFolder,
  Journal,
  type JournalEntry,
  type JournalFacts,
  type JournalPod,
  type JournalQuery,
  type JournalRecord,
  placeInRecord,
  type RecordMaker,
  recordSyncs,
  RepeatFolder,
  toLifecycleRecord,
} from '#history';
import { type CriClient } from '#watch';
import { untilNextBeatMs } from '#base/async/beat.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type AgentOptions } from '../options/agent-options.js';
import { type AgentParts } from '../parts/agent-parts.js';
import { recordPodEvents, recordRestarts, toProbeRecord } from './pod-event-records.js';
import { RuntimeRecords } from './runtime-records.js';

/** What an {@link AgentHistory} listens to. */
export interface AgentHistoryOptions {
  readonly options: Pick<
    AgentOptions,
    'rootDir' | 'journalMaxSizeBytes' | 'journalMaxAgeMs' | 'runtimeRequestTimeoutMs' | 'mode'
  >;
  readonly parts: Pick<
    AgentParts,
    'pleg' | 'probes' | 'manager' | 'desired' | 'findPod' | 'runtimeState' | 'hide'
  >;
  readonly client: Pick<CriClient, 'callsInFlight' | 'endpoint'>;
  readonly runtime: { readonly url: string; readonly name: string; readonly version: string };
  readonly identity: { readonly name: string };
  /** podloop's. */
  readonly version: string;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What a client has asked for. */
export interface RequestedAction {
  readonly verb: string;
  /** As it calls itself. */
  readonly client: string;
  readonly namespace: string;
  readonly name: string;
  /** Absent for a pod that does not run. */
  readonly uid?: string;
  readonly container?: string;
}

/** How often to check what hangs, in milliseconds. */
const LOOK_MS = 1_000;

/** See the module. */
export class AgentHistory implements Disposable {
  readonly #options: AgentHistoryOptions;
  readonly #journal: Journal;
  readonly #repeats: RepeatFolder;
  readonly #calls: CallRecords;
  readonly #runtime: RuntimeRecords;
  readonly #leave: readonly (() => void)[];

  /** Records from now on, in memory until it runs. */
  constructor(given: AgentHistoryOptions) {
    const { options, parts, client, identity, channels, clock, logger } = given;
    this.#options = given;
    this.#journal = new Journal({
      ...{ folder: historyFolder(options.rootDir), nodeName: identity.name },
      limits: { maxBytes: options.journalMaxSizeBytes, maxAgeMs: options.journalMaxAgeMs },
      ...{ channels, clock, logger },
    });
    const append = (record: JournalRecord): void => this.#append(record);
    this.#repeats = new RepeatFolder({ clock, append });
    const maker: RecordMaker = {
      ...{ channels, clock, append, repeats: this.#repeats },
      findPod: (uid) => this.#findPod(uid),
    };
    this.#calls = new CallRecords({
      ...maker,
      callsInFlight: () => client.callsInFlight(),
      requestTimeoutMs: options.runtimeRequestTimeoutMs,
    });
    this.#runtime = new RuntimeRecords({
      ...{ ...maker, endpoint: client.endpoint },
      health: () => parts.pleg.health(),
      isRuntimeThere: () => parts.runtimeState.isAnswered,
    });
    this.#leave = [recordSyncs(maker), recordPodEvents(maker), recordRestarts(maker)];
  }

  /** Its present state. */
  get facts(): JournalFacts {
    return this.#journal.facts;
  }

  /** See {@link Journal.read}. */
  read(query: JournalQuery, signal: AbortSignal): AsyncGenerator<JournalEntry, void, undefined> {
    return this.#journal.read(query, signal);
  }

  /** Stores records until the signal aborts, and then the remaining ones. */
  async run(signal: AbortSignal): Promise<void> {
    const { runtime, version, options, clock } = this.#options;
    const facts = { runtime: runtime.name, runtimeVersion: runtime.version, mode: options.mode };
    this.#record('AgentStarted', `podloop ${version} works on ${runtime.name} ${runtime.version}`, {
      ...{ ...facts, pid: process.pid, version, endpoint: runtime.url },
    });
    const writing = new AbortController();
    const written = this.#journal.run(writing.signal);
    const listening = [this.#recordEvents(signal), this.#recordProbes(signal)];
    while (!signal.aborted) {
      this.#calls.look();
      this.#runtime.look();
      this.#repeats.look();
      await clock.sleep(untilNextBeatMs(clock, LOOK_MS), signal).catch(() => undefined);
    }
    await Promise.all(listening);
    this.#repeats.end('');
    this.#record('AgentStopped', `podloop ${version} ended`, { pid: process.pid, version });
    writing.abort();
    await written;
  }

  /** Records what a client has asked for: `stop`, `start` or `restart` of a pod, or `exec` in it. */
  recordAction({ verb, client, namespace, name, uid, container }: RequestedAction): void {
    const reason = `${verb[0]!.toUpperCase()}${verb.slice(1)}Requested`;
    const what = verb === 'exec' ? 'run a command in' : verb;
    const message = `${client} asked to ${what} pod ${namespace}/${name}`;
    const pod = uid === undefined ? {} : { pod: { uid, namespace, name } };
    const place = container === undefined ? {} : { container };
    const atMs = this.#options.clock.now();
    this.#append({
      ...{ atMs, kind: 'agent', type: 'Normal', reason, message, ...pod, ...place },
      details: { verb, client },
    });
  }

  /** Stops listening. Idempotent. */
  [Symbol.dispose](): void {
    this.#calls[Symbol.dispose]();
    this.#runtime[Symbol.dispose]();
    for (const leave of this.#leave) leave();
  }

  async #recordEvents(signal: AbortSignal): Promise<void> {
    await using events = this.#options.parts.pleg.subscribe();
    signal.addEventListener('abort', () => events.close(), { once: true });
    for await (const event of events) {
      const record = toLifecycleRecord(event);
      if (record !== undefined) this.#append(record);
    }
  }

  async #recordProbes(signal: AbortSignal): Promise<void> {
    await using results = this.#options.parts.probes.subscribe();
    signal.addEventListener('abort', () => results.close(), { once: true });
    for await (const result of results) {
      const pod = this.#findPod(result.podUid);
      if (pod === undefined) continue;
      this.#append({ ...toProbeRecord(result), atMs: this.#options.clock.now(), pod });
    }
  }

  #findPod(uid: string): JournalPod | undefined {
    const { manager, desired } = this.#options.parts;
    const known = manager.find(uid)?.pod ?? desired.find(uid)?.metadata;
    return known === undefined ? undefined : { uid, namespace: known.namespace, name: known.name };
  }

  #record(reason: string, message: string, details: JournalRecord['details']): void {
    const atMs = this.#options.clock.now();
    this.#append({ atMs, kind: 'agent', type: 'Normal', reason, message, details });
  }

  #append(record: JournalRecord): void {
    const { identity, parts } = this.#options;
    const { pod } = record;
    const shown = hideInRecord(record, parts.hide);
    if (pod === undefined) this.#journal.append({ ...shown, node: identity.name });
    else this.#journal.append(placeInRecord(shown, parts.findPod(pod.uid)?.spec));
  }
}
