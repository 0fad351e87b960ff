/**
 * A recording as events, in the words of a node's history: what happened to containers, calls that hung, were slow or
 * failed, pulls, and what changed the node.
 *
 * In: a file that `podloop record` wrote, or the one of an incident. Out: events in the order of their times. It reads
 * the file once and holds no messages of it, and says what it leaves out when there are too many.
 *
 * @module
 */
import { formatGoDuration } from '#base/time/go-duration.js';
import { formatRfc3339 } from '#base/time/rfc3339.js';
import { GRPC_STATUS_NAMES } from '../relay/index.js';
import { kindOf } from './method-kinds.js';
import { type RecordedPod, RecordedPods } from './recorded-pods.js';
import { RecordingFile } from './recording-file.js';
import { isTrial, type RecordingSummary } from './recording-summary.js';
import { type ContainerChange, findContainerChanges } from './replay/container-changes.js';
import { type RecordedCall, Timeline } from './replay/timeline.js';
import { WorldHistory } from './replay/world-history.js';

/** Something that happened in a recording. */
export interface RecordingEvent {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly kind: 'lifecycle' | 'restart' | 'event' | 'call';
  readonly type: 'Normal' | 'Warning';
  /** In CamelCase. */
  readonly reason: string;
  readonly message: string;
  /** Absent if it is about the runtime as a whole. */
  readonly pod?: RecordedPod;
  readonly container?: string;
  /** How often it happened since {@link firstAtMs} (default: once). */
  readonly count?: number;
  readonly firstAtMs?: number;
  readonly details: Readonly<Record<string, string | number | undefined>>;
}

/** What {@link readRecordingEvents} found. */
export interface RecordingEvents extends Pick<
  RecordingSummary,
  'startedAt' | 'durationMs' | 'mode' | 'upstream' | 'end' | 'part' | 'lost'
> {
  readonly events: readonly RecordingEvent[];
  /** Events beyond the maximum: changes that went well first, then the newest. */
  readonly leftOut: number;
}

/** What a page can show. */
const MAX_EVENTS = 50_000;
const SLOW_US = 1_000_000;
/** The same failure within that time is the same event. */
const SAME_FAILURE_US = 5_000_000;
const CALLS_PER_SIGNAL = 1_000;
const NOT_FOUND = 5;
const ID_SHOWN = 13;

/** Reads a recording. Rejects with RECORDING_INVALID. */
export async function readRecordingEvents(
  path: string,
  { signal, maxEvents = MAX_EVENTS }: { readonly signal?: AbortSignal; readonly maxEvents?: number } = {},
): Promise<RecordingEvents> {
  await using file = await RecordingFile.open(path);
  const timeline = await Timeline.read(file, signal);
  const { meta, endAt, close, lost } = timeline;
  const pods = await RecordedPods.find(file, timeline.calls, signal);
  const changes = await findContainerChanges(await WorldHistory.create(file, timeline), signal);
  const writer = new EventWriter({ file, timeline, pods, changes });
  for (const change of changes) writer.addChange(change);
  for (const [at, call] of timeline.calls.entries()) {
    if (at % CALLS_PER_SIGNAL === 0) signal?.throwIfAborted();
    await writer.addCall(call);
  }
  const all = writer.events.sort((one, other) => one.atMs - other.atMs);
  const events = all.length <= maxEvents ? all : all.filter(isNotable).slice(0, maxEvents);
  return {
    ...{ startedAt: meta.startedAt, durationMs: endAt / 1_000, mode: meta.mode, upstream: meta.upstream },
    ...{ end: timeline.isShortened ? 'shortened' : (close?.reason ?? 'cut-off'), part: meta.part, lost },
    ...{ events, leftOut: all.length - events.length },
  };
}

/** Not what merely went well. */
function isNotable({ kind, type }: RecordingEvent): boolean {
  return kind !== 'event' || type === 'Warning';
}

interface EventWriterOptions {
  readonly file: RecordingFile;
  readonly timeline: Timeline;
  readonly pods: RecordedPods;
  readonly changes: readonly ContainerChange[];
}

class EventWriter {
  readonly events: RecordingEvent[] = [];
  readonly #options: EventWriterOptions;
  readonly #startMs: number;
  /** Names of containers, by their ids. */
  readonly #names: ReadonlyMap<string, string>;
  /** The newest failure of each kind: its place among the events, and its time. */
  readonly #failures = new Map<string, { readonly place: number; readonly at: number }>();

  constructor(options: EventWriterOptions) {
    this.#options = options;
    this.#startMs = Date.parse(options.timeline.meta.startedAt);
    this.#names = new Map(
      options.changes.flatMap(({ id, container }) => (container === undefined ? [] : [[id, container]])),
    );
  }

  addChange(change: ContainerChange): void {
    const { what, id, sandboxId, container, attempt, at, exitCode, reason, occurredAtNs, isInitial } = change;
    const pod = this.#options.pods.findById(sandboxId);
    const about = pod === undefined ? {} : { pod, ...(container === undefined ? {} : { container }) };
    const subject = container === undefined ? 'Sandbox' : `Container ${container}`;
    const isFailure = what === 'died' && exitCode !== undefined && exitCode !== 0;
    const why = reason === undefined ? '' : `: ${reason}`;
    const how = exitCode === undefined ? '' : ` with exit code ${exitCode}${why}`;
    const found = isInitial ? ', found at the beginning' : '';
    const words = {
      started: isInitial ? `${subject} runs${found}` : `${subject} started`,
      died: `${subject} died${how}${found}`,
      removed: `${subject} was removed`,
    };
    const reasons = { started: 'ContainerStarted', died: 'ContainerDied', removed: 'ContainerRemoved' };
    this.events.push({
      ...{ atMs: this.#toMs(at), kind: 'lifecycle', type: isFailure ? 'Warning' : 'Normal' },
      ...{ reason: reasons[what], message: words[what], ...about },
      details: {
        ...{ containerId: id, containerKind: container === undefined ? 'sandbox' : 'container' },
        ...{ exitCode, containerReason: reason },
        occurredAt: occurredAtNs === undefined ? undefined : formatRfc3339(occurredAtNs),
      },
    });
    if (what !== 'started' || container === undefined || attempt === 0 || isInitial) return;
    this.events.push({
      ...{ atMs: this.#toMs(at), kind: 'restart', type: 'Warning', reason: 'ContainerRestarted', ...about },
      ...{ message: `Container ${container} was started again`, details: { containerId: id, attempt } },
    });
  }

  async addCall(call: RecordedCall): Promise<void> {
    const { timeline } = this.#options;
    const { method, code, at, endAt = timeline.endAt } = call;
    if (method.name === 'GetContainerEvents' || isTrial(call, timeline.meta.mode)) return;
    if (timeline.hung(call)) return this.#addHang(call);
    if (code === undefined) return;
    if (method.name === 'PullImage') return this.#addPull(call);
    if (code !== 0) return this.#addFailure(call, code);
    const took = durationOf(endAt - at);
    if (kindOf(method) === 'change') {
      const facts = { method: method.name, durationMs: toWholeMs(endAt - at) };
      const reason = method.name;
      await this.#add(call, endAt, { kind: 'event', type: 'Normal', reason }, `was done in ${took}`, facts);
    } else if (endAt - at >= SLOW_US)
      await this.#addEnd(call, { type: 'Normal', reason: 'SlowCall' }, `took ${took}`);
  }

  async #addHang(call: RecordedCall): Promise<void> {
    const { endAt } = this.#options.timeline;
    if (call.endAt !== undefined) {
      const message = `was not answered for ${durationOf(call.endAt - call.at)}, and given up`;
      return this.#addEnd(call, { type: 'Warning', reason: 'CallReturned' }, message);
    }
    const forMs = toWholeMs(endAt - call.at);
    const facts = { method: call.method.name, forMs };
    const message = `was not answered any more, for ${durationOf(endAt - call.at)}`;
    await this.#add(call, endAt, { kind: 'call', type: 'Warning', reason: 'CallHangs' }, message, facts);
  }

  async #addFailure(call: RecordedCall, code: number): Promise<void> {
    const { method, message, at, endAt = at } = call;
    const { subject, pod } = await this.#options.pods.findOfCall(this.#options.file, call);
    const key = [method.name, code, message, subject, pod?.uid].join(' ');
    const known = this.#failures.get(key);
    if (known !== undefined && at - known.at < SAME_FAILURE_US) {
      const event = this.events[known.place]!;
      const { count = 1, firstAtMs = event.atMs } = event;
      this.events[known.place] = { ...event, atMs: this.#toMs(endAt), count: count + 1, firstAtMs };
      this.#failures.set(key, { ...known, at });
      return;
    }
    this.#failures.set(key, { place: this.events.length, at });
    // Who asks for what has just gone gets this answer all the time.
    const type = code === NOT_FOUND ? 'Normal' : 'Warning';
    const words = `failed after ${durationOf(endAt - at)}: ${nameOf(code)}: ${message}`;
    await this.#addEnd(call, { type, reason: 'CallFailed' }, words, { code: nameOf(code) });
  }

  async #addPull(call: RecordedCall): Promise<void> {
    const { at, endAt = at, code = 0, message } = call;
    const facts = { method: 'PullImage', durationMs: toWholeMs(endAt - at) };
    await this.#add(call, at, { kind: 'event', type: 'Normal', reason: 'Pulling' }, 'began', facts);
    const took = durationOf(endAt - at);
    const [reason, words] =
      code === 0 ? ['Pulled', `took ${took}`] : ['Failed', `failed after ${took}: ${message}`];
    const type = code === 0 ? 'Normal' : 'Warning';
    await this.#add(call, endAt, { kind: 'event', type, reason }, words, facts);
  }

  async #addEnd(
    call: RecordedCall,
    words: Pick<RecordingEvent, 'type' | 'reason'>,
    message: string,
    more: RecordingEvent['details'] = {},
  ): Promise<void> {
    const { method, at, endAt = at } = call;
    const facts = { method: method.name, durationMs: toWholeMs(endAt - at), ...more };
    await this.#add(call, endAt, { kind: 'call', ...words }, message, facts);
  }

  async #add(
    call: RecordedCall,
    at: number,
    words: Pick<RecordingEvent, 'kind' | 'type' | 'reason'>,
    message: string,
    facts: RecordingEvent['details'],
  ): Promise<void> {
    const { file, pods } = this.#options;
    const { subject, pod } = await pods.findOfCall(file, call);
    const container = this.#names.get(subject);
    const id =
      subject === '' ? {} : container === undefined ? { sandboxId: subject } : { containerId: subject };
    // A pod whose name is not known is shown by its sandbox.
    const of = pod === undefined && subject !== '' ? ` of ${subject.slice(0, ID_SHOWN)}` : '';
    this.events.push({
      ...{ atMs: this.#toMs(at), ...words, message: `${call.method.name}${of} ${message}` },
      ...(pod === undefined ? {} : { pod }),
      ...(pod === undefined || container === undefined ? {} : { container }),
      details: { ...id, ...facts },
    });
  }

  #toMs(at: number): number {
    return this.#startMs + at / 1_000;
  }
}

function toWholeMs(us: number): number {
  return Math.round(us / 1_000);
}

/** To the tenth of a millisecond, which is as much as it means. */
function durationOf(us: number): string {
  return formatGoDuration(us < 1_000_000 ? Math.round(us / 100) / 10 : Math.round(us / 1_000));
}

function nameOf(code: number): string {
  return GRPC_STATUS_NAMES[code] ?? String(code);
}
