import { readHistoryOnDisk, type JournalEntry } from '#node';
import { type HistoryFilter } from '#kube/node/history-filter.js';
import { type Clock } from '#base/time/clock.js';
import { hasCode, messageOf } from '#base/errors/errors.js';
import { AgentAbsent, type AgentClient, ANSWER_LIMIT_MS } from '../api/agent-client.js';
import { readLines } from '../api/watch-objects.js';
import { CommandFailure, failure } from '../../command-failure.js';

/** A record of the history, wherever it was read. */
export type HistoryRecord = JournalEntry;

/** What a {@link HistoryReader} needs. */
export interface HistoryReaderOptions {
  readonly client: AgentClient;
  /** Read while no agent answers. */
  readonly rootDir: string;
  readonly filter: HistoryFilter;
  /** Goes on with what happens, over ends and starts of the agent. */
  readonly watch: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** How often it is looked for an agent that is down. */
const LOOK_AGAIN_MS = 1_000;

/** Reads a history from the agent or, while there is none, from its disk. */
export class HistoryReader {
  readonly #options: HistoryReaderOptions;
  /** The id of the last record. */
  #after: string | undefined;

  constructor(options: HistoryReaderOptions) {
    this.#options = options;
  }

  /** The records in order, each once. Rejects with a CommandFailure. */
  async *read(): AsyncGenerator<HistoryRecord, void, undefined> {
    const { watch, clock, signal } = this.#options;
    for (let isFirst = true; ; isFirst = false) {
      // What was asked for may be over before it is read to its end, not after.
      const isLast = !watch || this.#isOver();
      try {
        yield* this.#keepingPlace(this.#readFromAgent());
      } catch (error) {
        const isAbsent = error instanceof AgentAbsent;
        // While it is watched, an agent may end and start again; what it refuses it would refuse again.
        const mayReturn = !isLast && (!isFirst || !(error instanceof CommandFailure));
        if (signal.aborted || !(isAbsent || mayReturn)) throw this.#explain(error);
        if (isAbsent && (isFirst || isLast)) yield* this.#readFromDisk(isLast);
      }
      if (isLast || signal.aborted) return;
      if (!this.#isOver()) await clock.sleep(LOOK_AGAIN_MS, signal);
    }
  }

  /** Whether all that is wanted has happened. */
  #isOver(): boolean {
    const { filter, clock } = this.#options;
    return filter.untilMs !== undefined && clock.now() > filter.untilMs;
  }

  #explain(error: unknown): unknown {
    if (error instanceof CommandFailure || this.#options.signal.aborted) return error;
    const { socketPath } = this.#options.client;
    return failure(`the agent at ${socketPath} ended before it had sent everything: ${messageOf(error)}`);
  }

  async *#keepingPlace(
    records: AsyncIterable<HistoryRecord>,
  ): AsyncGenerator<HistoryRecord, void, undefined> {
    for await (const record of records) {
      this.#after = record.id;
      yield record;
    }
  }

  async *#readFromAgent(): AsyncGenerator<HistoryRecord, void, undefined> {
    const { client, filter, watch } = this.#options;
    const { namespace, pod, uid, kinds, types, sinceMs: since, untilMs: until } = filter;
    const answer = await client.open('GET', '/events', {
      limitMs: ANSWER_LIMIT_MS,
      query: {
        ...{ namespace, pod, uid, since, until, after: this.#after },
        ...{ kinds: kinds?.join(','), types: types?.join(','), follow: String(watch) },
      },
    });
    try {
      if (answer.headers['content-type']?.startsWith('text/event-stream') !== true) {
        throw failure(`the agent at ${client.socketPath} has not answered GET /events with a history`);
      }
      for await (const line of readLines(answer)) {
        if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as HistoryRecord;
      }
    } finally {
      answer.destroy();
    }
  }

  /** `isLast`: it is not read again, from there or elsewhere. */
  async *#readFromDisk(isLast: boolean): AsyncGenerator<HistoryRecord, void, undefined> {
    const { rootDir, client, signal, filter, clock } = this.#options;
    try {
      const query = { rootDir, filter, clock, afterId: this.#after };
      yield* this.#keepingPlace(readHistoryOnDisk(query, signal));
    } catch (error) {
      if (!hasCode(error, 'JOURNAL_UNUSABLE')) throw error;
      // There may be one as soon as the agent is there.
      if (!isLast || signal.aborted) return;
      try {
        // Whoever has taken it meanwhile may be an agent that has started.
        yield* this.#keepingPlace(this.#readFromAgent());
      } catch (absent) {
        if (!(absent instanceof AgentAbsent)) throw this.#explain(absent);
        const hint = 'name the socket of the agent with --socket, or its folder with --root-dir';
        throw failure(`no agent answers at ${client.socketPath}, and ${error.message}; ${hint}`);
      }
    }
  }
}
