import { type AgentSession, type SessionFlags } from '../../shared/agent-session.js';
import { type Query } from '../../shared/api/agent-client.js';
import { ApiError } from '../../shared/api/api-status.js';
import { type PodObject } from '#kube/columns/kube-object.js';
import { pathOf, PODS } from '../../shared/api/resource-type.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure } from '../../command-failure.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
import { messageOf } from '#base/errors/errors.js';

/** The flags of `podloop logs`. Durations are in milliseconds. */
export interface LogFlags extends SessionFlags {
  readonly follow: boolean;
  readonly throughRestarts: boolean;
  readonly previous: boolean;
  readonly container?: string;
  readonly allContainers: boolean;
  readonly selector?: string;
  readonly allPods: boolean;
  readonly timestamps: boolean;
  readonly since?: number;
  readonly sinceTime?: string;
  readonly tail?: number;
  readonly limitBytes?: number;
  readonly prefix: boolean;
  readonly ignoreErrors: boolean;
  readonly maxLogRequests: number;
  readonly podRunningTimeout: number;
}

/** A log: of one container of one pod. */
export interface LogSource {
  readonly pod: string;
  readonly container: string;
}

/** What a {@link LogStreams} is made of. */
export interface LogStreamsOptions {
  readonly flags: LogFlags;
  readonly session: AgentSession;
  readonly host: CliHost;
  readonly sources: readonly LogSource[];
}

/** How often a container that has not started is asked again. */
const RETRY_MS = 1_000;
/** The default number of lines per log when labels select the pods. */
const SELECTOR_TAIL = 10;
/** A line is written whole up to here, so that the lines of several logs do not mix. */
const MAX_LINE_BYTES = 1024 * 1024;

/** Prints logs: one after the other, or all beside one another when they are followed, always whole lines. */
export class LogStreams {
  readonly #options: LogStreamsOptions;

  constructor(options: LogStreamsOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { flags, sources } = this.#options;
    if (flags.follow) {
      await Promise.all(sources.map((source) => this.#followOne(source)));
      return;
    }
    for (const source of sources)
      await this.#printOne(source).catch((error: unknown) => this.#printError(error));
  }

  async #followOne(source: LogSource): Promise<void> {
    if (!this.#options.flags.throughRestarts) return this.#followContainer(source);
    // Read before its log, so that no restart is missed.
    let before = await this.#readRestarts(source);
    await this.#followContainer(source);
    for (;;) {
      const now = await this.#untilRestarted(source, before ?? 0);
      if (now === undefined) return;
      before = now;
      await this.#followContainer(source, { isNext: true });
    }
  }

  /** How often a container was restarted; undefined when it will not be any more, or its pod is gone. */
  async #readRestarts({ pod, container }: LogSource): Promise<number | undefined> {
    const { client, namespace } = this.#options.session;
    try {
      const { status = {} }: PodObject = await client.get(pathOf(PODS, namespace, pod));
      if (status.phase === 'Succeeded' || status.phase === 'Failed') return undefined;
      const all = [
        ...(status.initContainerStatuses ?? []),
        ...(status.containerStatuses ?? []),
        ...(status.ephemeralContainerStatuses ?? []),
      ];
      return all.find(({ name }) => name === container)?.restartCount ?? 0;
    } catch (error) {
      if (error instanceof ApiError && error.reason === 'NotFound') return undefined;
      throw error;
    }
  }

  /** Resolves with the count of restarts once it is above `before`; undefined when there will be none. */
  async #untilRestarted(source: LogSource, before: number): Promise<number | undefined> {
    const { session, host } = this.#options;
    for (;;) {
      const now = await this.#readRestarts(source);
      if (now === undefined || now > before) return now;
      await host.clock.sleep(RETRY_MS, session.signal);
    }
  }

  /** Waits for a container that has not started yet, and says once for each reason why. */
  async #followContainer(source: LogSource, { isNext = false } = {}): Promise<void> {
    const { flags, session, host } = this.#options;
    const { clock, stderr } = host;
    const beganMs = clock.monotonicMs();
    // A pull that fails again and again goes from one reason to another and back.
    const printed = new Set<string>();
    for (;;) {
      try {
        await this.#printOne(source, isNext);
        return;
      } catch (error) {
        if (flags.ignoreErrors) return this.#printError(error);
        if (!(error instanceof ApiError)) throw error;
        if (clock.monotonicMs() - beganMs >= flags.podRunningTimeout) throw error;
        if (!printed.has(error.told)) await stderr.writeLine(escapeTerminal(error.told));
        printed.add(error.told);
        await clock.sleep(RETRY_MS, session.signal);
      }
    }
  }

  /** Says what went wrong among the logs, where that is wanted; else throws it. */
  async #printError(error: unknown): Promise<void> {
    const { flags, session, host } = this.#options;
    if (!flags.ignoreErrors || session.signal.aborted) throw error;
    const text = error instanceof CommandFailure ? error.lines.join(' ') : messageOf(error);
    await host.stdout.writeLine(`error: ${escapeTerminal(text)}`);
  }

  /** `isNext`: of a container that was started while its log is followed, so all of it. */
  async #printOne({ pod, container }: LogSource, isNext = false): Promise<void> {
    const { flags, session, host } = this.#options;
    const { client, namespace, signal } = session;
    const path = `${pathOf(PODS, namespace, pod)}/log`;
    const answer = await client.open('GET', path, {
      query: isNext ? { container, follow: true, timestamps: flags.timestamps } : toQuery(flags, container),
    });
    const prefix = Buffer.from(flags.prefix || flags.allPods ? `[pod/${pod}/${container}] ` : '');
    try {
      for await (const lines of wholeLines(client.read(answer))) {
        await host.stdout.write(prefix.length === 0 ? lines : withPrefix(lines, prefix), signal);
        if (signal.aborted) return;
      }
    } finally {
      answer.destroy();
    }
  }
}

function toQuery(flags: LogFlags, container: string): Query {
  const { follow, previous, timestamps, since, sinceTime, limitBytes, selector } = flags;
  const tail = flags.tail ?? (selector === undefined ? -1 : SELECTOR_TAIL);
  return {
    ...{ container, follow, previous, timestamps, sinceTime },
    limitBytes: limitBytes === 0 ? undefined : limitBytes,
    sinceSeconds: since === undefined || since === 0 ? undefined : Math.max(1, Math.round(since / 1000)),
    tailLines: tail < 0 ? undefined : tail,
  };
}

/** Pieces that end with a line; the last one may not. */
async function* wholeLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(10) + 1;
    if (end > 0) {
      yield Buffer.concat([...rest, chunk.subarray(0, end)]);
      rest = [];
      restBytes = 0;
    }
    if (end < chunk.length) rest.push(chunk.subarray(end));
    restBytes += chunk.length - end;
    if (restBytes <= MAX_LINE_BYTES) continue;
    yield Buffer.concat(rest);
    rest = [];
    restBytes = 0;
  }
  if (restBytes > 0) yield Buffer.concat(rest);
}

function withPrefix(lines: Buffer, prefix: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let from = 0; from < lines.length;) {
    const end = lines.indexOf(10, from);
    const next = end < 0 ? lines.length : end + 1;
    parts.push(prefix, lines.subarray(from, next));
    from = next;
  }
  return Buffer.concat(parts);
}
