/**
 * The history of a node as tracks of a timeline: for each pod what it and its containers did, and for the node itself.
 *
 * In: records in the order of the history, and pods as they are now. Out: spans (something lasted) and marks (something
 * happened), by track and lane. A span whose begin is not among the records begins at the left edge of what is known.
 *
 * @module
 */
import { type JournalEntry, numberOf, textOf } from '../data/journal-entry.js';
import { type ContainerState, type PodObject, statusesOf, type Tone } from '../data/shown-pod.js';
import { SpanIndex } from './span-index.js';

/** What lasts. */
export type SpanKind = 'run' | 'pull' | 'sync' | 'call' | 'hang' | 'trouble' | 'gap';
/** What happens at one moment. */
export type MarkKind = 'restart' | 'died' | 'probe' | 'event' | 'call' | 'node' | 'finding';

/** Something that lasts. */
export interface Span {
  readonly kind: SpanKind;
  tone: Tone;
  /** -Infinity if it began before what is known. */
  fromMs: number;
  /** Undefined while it lasts. */
  toMs: number | undefined;
  label: string;
  /** What it is known from: a record, or the status of a pod. */
  entry: JournalEntry | undefined;
  /** The record of its end. */
  end?: JournalEntry;
}

/** Something that happened. */
export interface Mark {
  readonly kind: MarkKind;
  readonly tone: Tone;
  readonly atMs: number;
  readonly entry: JournalEntry;
}

/** A line of a track: a container, or the pod itself. */
export interface Lane {
  readonly name: string;
  readonly spans: Span[];
  /** The same spans, to find those of a window. */
  readonly index: SpanIndex<Span>;
  /** Those that are problems by themselves: calls that hung, and findings. They are few. */
  readonly troubles: Span[];
  /** In the order of their times. */
  readonly marks: Mark[];
}

/** A pod, a workload that makes pods, or the node. */
export interface Track {
  /** The uid of the pod or workload, or `node`. */
  readonly key: string;
  /** The kind of a workload. */
  readonly workload?: string;
  readonly namespace: string;
  readonly name: string;
  readonly lane: Lane;
  readonly containers: Map<string, Lane>;
  warnings: number;
  restarts: number;
  lastMs: number;
}

/** The key of the track of the node. */
export const NODE = 'node';

/** Reasons that end a span of the node or of a pod, by the reason that began it. */
const ENDS: Readonly<Record<string, { readonly begin: string; readonly label: string }>> = {
  Healthy: { begin: 'Unhealthy', label: 'PLEG is not healthy' },
  RuntimeConnected: { begin: 'RuntimeDisconnected', label: 'no connection to the runtime' },
  PodNotStuck: { begin: 'PodStuck', label: 'stuck in the runtime' },
  RelistSucceeded: { begin: 'RelistFailed', label: 'lists fail' },
};
const BEGINS = new Map(Object.values(ENDS).map(({ begin, label }) => [begin, label]));

/** See the module. */
export class Tracks {
  readonly byKey = new Map<string, Track>();
  /** Every record, in order. */
  readonly entries: JournalEntry[] = [];
  readonly #runs = new Map<string, Span>();
  /** Spans that last, by what ends them. */
  readonly #open = new Map<string, Span>();

  /** The track of the node. */
  get node(): Track {
    return this.#track(NODE, '', 'Node');
  }

  /** Adds the next record. */
  add(entry: JournalEntry): void {
    this.entries.push(entry);
    const { pod, about, container, kind, type } = entry;
    const track = pod === undefined ? this.node : this.#track(pod.uid, pod.namespace, pod.name, about?.kind);
    track.lastMs = Math.max(track.lastMs, entry.atMs);
    if (type === 'Warning') track.warnings++;
    const lane = container === undefined ? track.lane : laneOf(track, container);
    switch (kind) {
      case 'lifecycle':
        this.#addLifecycle(entry, track, lane);
        break;
      case 'event':
        this.#addEvent(entry, lane, track);
        break;
      case 'restart':
        track.restarts++;
        mark(lane, 'restart', type === 'Warning' ? 'warn' : 'info', entry);
        break;
      case 'probe':
        mark(lane, 'probe', type === 'Warning' ? 'bad' : 'ok', entry);
        break;
      case 'sync':
        addSync(entry, lane);
        break;
      case 'call':
        this.#addCall(entry, lane, track);
        break;
      case 'finding':
        this.#addFinding(entry, lane, track);
        break;
      case 'agent':
        this.#addAgent(entry, lane);
        break;
      default:
        this.#addState(entry, lane, track);
        break;
    }
  }

  /** Adds what the pods show of now and of their last ends, where no record has it. */
  seed(pods: Iterable<PodObject>): void {
    for (const pod of pods) {
      const { uid, namespace, name } = pod.metadata;
      const track = this.#track(uid, namespace, name);
      for (const status of statusesOf(pod)) {
        const lane = laneOf(track, status.name);
        this.#seedRun(lane, status.lastState, status.lastState?.terminated?.containerID);
        const { state, containerID } = status;
        this.#seedRun(lane, state, state?.terminated?.containerID ?? containerID);
      }
    }
  }

  #addLifecycle(entry: JournalEntry, track: Track, lane: Lane): void {
    const id = textOf(entry, 'containerId') ?? entry.id;
    const occurred = Date.parse(textOf(entry, 'occurredAt') ?? '');
    const atMs = Number.isNaN(occurred) ? entry.atMs : occurred;
    const isSandbox = textOf(entry, 'containerKind') === 'sandbox';
    if (entry.reason === 'ContainerStarted') {
      this.#endPull(entry, track);
      const known = this.#runs.get(id);
      if (known !== undefined) {
        if (known.fromMs === -Infinity || known.toMs === undefined) known.fromMs = atMs;
        known.entry = entry;
        return;
      }
      const span: Span = {
        ...{
          kind: isSandbox ? 'sync' : 'run',
          tone: isSandbox ? 'quiet' : 'ok',
          fromMs: atMs,
          toMs: undefined,
        },
        ...{ label: isSandbox ? 'sandbox' : 'running', entry },
      };
      this.#runs.set(id, span);
      addSpan(lane, span);
    } else if (entry.reason === 'ContainerDied') {
      let span = this.#runs.get(id);
      if (span === undefined) {
        span = {
          kind: isSandbox ? 'sync' : 'run',
          tone: 'quiet',
          fromMs: -Infinity,
          toMs: atMs,
          label: '',
          entry: undefined,
        };
        this.#runs.set(id, span);
        addSpan(lane, span);
      }
      span.toMs = atMs;
      span.end = entry;
      if (isSandbox) return;
      const exitCode = numberOf(entry, 'exitCode');
      const reason = textOf(entry, 'containerReason');
      Object.assign(span, describeExit(exitCode, reason));
      if (exitCode !== undefined && exitCode !== 0) mark(lane, 'died', 'bad', { ...entry, atMs });
    } else if (entry.reason === 'EventsFolded') mark(track.lane, 'event', 'warn', entry);
  }

  #addEvent(entry: JournalEntry, lane: Lane, track: Track): void {
    const key = `pull ${track.key} ${entry.container ?? ''}`;
    if (entry.reason === 'Pulling') {
      // One that stands for several says nothing of how long each took.
      if (this.#open.has(key) || (entry.count ?? 1) > 1) return;
      const span: Span = {
        kind: 'pull',
        tone: 'info',
        fromMs: entry.atMs,
        toMs: undefined,
        label: 'pull',
        entry,
      };
      this.#open.set(key, span);
      addSpan(lane, span);
      return;
    }
    if (/^(?:Pulled|Failed|ErrImage|Created|Killing)/.test(entry.reason)) this.#endPull(entry, track);
    mark(lane, 'event', entry.type === 'Warning' ? 'warn' : 'quiet', entry);
  }

  #endPull(entry: JournalEntry, track: Track): void {
    const key = `pull ${track.key} ${entry.container ?? ''}`;
    const pull = this.#open.get(key);
    if (pull === undefined) return;
    this.#open.delete(key);
    Object.assign(pull, { toMs: entry.atMs, end: entry });
    if (entry.type === 'Warning') pull.tone = 'bad';
  }

  #addCall(entry: JournalEntry, lane: Lane, track: Track): void {
    const method = textOf(entry, 'method') ?? 'call';
    const key = `call ${track.key} ${method} ${textOf(entry, 'containerId') ?? ''} ${textOf(entry, 'sandboxId') ?? ''}`;
    if (entry.reason === 'CallHangs') {
      const fromMs = entry.atMs - (numberOf(entry, 'forMs') ?? 0);
      const span: Span = {
        kind: 'hang',
        tone: 'bad',
        fromMs,
        toMs: undefined,
        label: `${method} hangs`,
        entry,
      };
      this.#open.set(key, span);
      addSpan(lane, span);
      return;
    }
    const lastedMs = numberOf(entry, 'durationMs') ?? 0;
    const hang = this.#open.get(key);
    if (entry.reason === 'CallReturned' && hang !== undefined) {
      this.#open.delete(key);
      hang.toMs = entry.atMs;
      hang.end = entry;
      return;
    }
    const kind = entry.reason === 'CallReturned' ? 'hang' : 'call';
    const tone = entry.type === 'Warning' ? 'bad' : 'warn';
    addSpan(lane, { kind, tone, fromMs: entry.atMs - lastedMs, toMs: entry.atMs, label: method, entry });
  }

  #addFinding(entry: JournalEntry, lane: Lane, track: Track): void {
    const key = `finding ${track.key} ${entry.reason} ${entry.container ?? ''}`;
    if (textOf(entry, 'state') === 'ended') {
      const begin = numberOf(entry, 'beganAtMs') ?? -Infinity;
      const span = this.#open.get(key);
      if (span === undefined)
        addSpan(lane, {
          kind: 'trouble',
          tone: 'bad',
          fromMs: begin,
          toMs: entry.atMs,
          label: entry.reason,
          entry,
        });
      else Object.assign(span, { toMs: entry.atMs, end: entry });
      this.#open.delete(key);
      return;
    }
    const tone = textOf(entry, 'severity') === 'critical' ? 'bad' : 'warn';
    const span: Span = {
      kind: 'trouble',
      tone,
      fromMs: entry.atMs,
      toMs: undefined,
      label: entry.reason,
      entry,
    };
    this.#open.set(key, span);
    addSpan(lane, span);
  }

  /** Starts and ends of the agent, with the time between them in which nobody observed. */
  #addAgent(entry: JournalEntry, lane: Lane): void {
    const isEnd = entry.reason.endsWith('Stopped');
    const gap = this.#open.get('agent');
    if (isEnd) {
      const span: Span = {
        kind: 'gap',
        tone: 'quiet',
        fromMs: entry.atMs,
        toMs: undefined,
        label: 'nobody observed',
        entry,
      };
      this.#open.set('agent', span);
      addSpan(lane, span);
    } else if (gap !== undefined) {
      this.#open.delete('agent');
      gap.toMs = entry.atMs;
      gap.end = entry;
    }
    mark(lane, 'node', 'info', entry);
  }

  #addState(entry: JournalEntry, lane: Lane, track: Track): void {
    const end = ENDS[entry.reason];
    if (end !== undefined) {
      const key = `${end.begin} ${track.key}`;
      const span = this.#open.get(key);
      if (span !== undefined) {
        this.#open.delete(key);
        span.toMs = entry.atMs;
        span.end = entry;
        return;
      }
    }
    const label = BEGINS.get(entry.reason);
    if (label !== undefined) {
      const key = `${entry.reason} ${track.key}`;
      if (this.#open.has(key)) return;
      const span: Span = {
        kind: 'trouble',
        tone: 'bad',
        fromMs: entry.firstAtMs ?? entry.atMs,
        toMs: undefined,
        label,
        entry,
      };
      this.#open.set(key, span);
      addSpan(lane, span);
      return;
    }
    mark(lane, 'node', entry.type === 'Warning' ? 'bad' : 'info', entry);
  }

  #seedRun(lane: Lane, state: ContainerState | undefined, id: string | undefined): void {
    const begin = Date.parse(state?.running?.startedAt ?? state?.terminated?.startedAt ?? '');
    const key = id?.replace(/^.*:\/\//, '') ?? '';
    if (Number.isNaN(begin) || key === '') return;
    const end = Date.parse(state?.terminated?.finishedAt ?? '');
    const toMs = Number.isNaN(end) ? undefined : end;
    const known = this.#runs.get(key);
    if (known !== undefined) {
      if (known.fromMs === -Infinity) known.fromMs = begin;
      return;
    }
    const span: Span = { kind: 'run', tone: 'ok', fromMs: begin, toMs, label: 'running', entry: undefined };
    if (state?.terminated !== undefined)
      Object.assign(span, describeExit(state.terminated.exitCode, state.terminated.reason));
    this.#runs.set(key, span);
    addSpan(lane, span);
    lane.spans.sort((one, other) => one.fromMs - other.fromMs);
  }

  #track(key: string, namespace: string, name: string, workload?: string): Track {
    let track = this.byKey.get(key);
    if (track === undefined) {
      track = {
        ...{ key, namespace, name, containers: new Map(), warnings: 0, restarts: 0, lastMs: 0 },
        ...(workload === undefined ? {} : { workload }),
        lane: newLane(''),
      };
      this.byKey.set(key, track);
    }
    return track;
  }
}

/** The place of the first mark at that time or later. */
export function firstMarkFrom(marks: readonly Mark[], atMs: number): number {
  let [low, high] = [0, marks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (marks[middle]!.atMs < atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

function newLane(name: string): Lane {
  return { name, spans: [], index: new SpanIndex(), troubles: [], marks: [] };
}

function addSpan(lane: Lane, span: Span): void {
  lane.spans.push(span);
  lane.index.add(span);
  if (span.kind === 'hang' || span.kind === 'trouble') lane.troubles.push(span);
}

function laneOf(track: Track, container: string): Lane {
  let lane = track.containers.get(container);
  if (lane === undefined) track.containers.set(container, (lane = newLane(container)));
  return lane;
}

/** A record may come a little after later ones: a death is known by when it happened. */
function mark({ marks }: Lane, kind: MarkKind, tone: Tone, entry: JournalEntry): void {
  const { atMs } = entry;
  let at = marks.length;
  while (at > 0 && marks[at - 1]!.atMs > atMs) at--;
  marks.splice(at, 0, { kind, tone, atMs, entry });
}

function addSync(entry: JournalEntry, lane: Lane): void {
  const lastedMs = numberOf(entry, 'durationMs') ?? 0;
  const isFailed = entry.type === 'Warning';
  const tone = isFailed ? 'bad' : 'info';
  addSpan(lane, {
    kind: 'sync',
    tone,
    fromMs: entry.atMs - lastedMs,
    toMs: entry.atMs,
    label: 'sync',
    entry,
  });
  if (isFailed) mark(lane, 'event', 'bad', entry);
}

function describeExit(
  exitCode: number | undefined,
  reason: string | undefined,
): { tone: Tone; label: string } {
  const why = reason === undefined || reason === 'Error' || reason === 'Completed' ? '' : ` ${reason}`;
  if (exitCode === undefined) return { tone: 'quiet', label: `ended${why}` };
  return { tone: exitCode === 0 ? 'quiet' : 'bad', label: `exit ${exitCode}${why}` };
}
