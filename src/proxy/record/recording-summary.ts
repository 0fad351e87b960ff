import { GRPC_STATUS_NAMES } from '../relay/index.js';
import { RecordingFile } from './recording-file.js';
import { type RecordedPod, RecordedPods } from './recorded-pods.js';
import { type RecordedCall, Timeline } from './replay/timeline.js';

/** A summary of a recording, for finding out what was wrong. Durations are in milliseconds. */
export interface RecordingSummary {
  readonly startedAt: string;
  readonly durationMs: number;
  readonly mode: 'relay' | 'observe';
  readonly upstream: string;
  /** Whether it was ended, and not cut off. */
  readonly isComplete: boolean;
  /**
   * How it ended: `full` and `rolled` since no more fitted, after which the recorder wrote nothing or a next file;
   * `shortened` when it has more than is read.
   */
  readonly end: 'stopped' | 'full' | 'rolled' | 'cut-off' | 'shortened';
  /** How many files of the same recording were before it; the last of them may be there as `FILE.1`. */
  readonly part: number;
  readonly lost: number;
  readonly methods: readonly {
    readonly method: string;
    readonly calls: number;
    readonly failed: number;
    readonly hung: number;
    readonly medianMs: number;
    readonly maxMs: number;
  }[];
  /** Calls that took longest and were answered. */
  readonly slowest: readonly CallSummary[];
  /** Calls that were never answered, those first that hung longest. */
  readonly hangs: readonly CallSummary[];
  readonly errors: readonly {
    readonly method: string;
    readonly code: string;
    readonly message: string;
    readonly count: number;
  }[];
  /** Methods that the runtime does not have and that were tried to find that out: no errors. */
  readonly unsupported: readonly string[];
  readonly events: number;
  /** Pods that were ever listed. */
  readonly pods: readonly RecordedPod[];
}

/** One call. */
export interface CallSummary {
  readonly method: string;
  /** The container or sandbox that it was about, or that it made; empty when it was about none. */
  readonly subject: string;
  /** The pod that it belongs to, `namespace/name`; empty when that is not known. */
  readonly pod: string;
  /** Of that pod; empty when that is not known. */
  readonly podUid: string;
  readonly atMs: number;
  readonly forMs: number;
}

const MAX_LISTED_CALLS = 20;
const MAX_LISTED_ERRORS = 50;

/** Reads a recording and summarizes it. Rejects with RECORDING_INVALID. */
export async function summarizeRecording(path: string, signal?: AbortSignal): Promise<RecordingSummary> {
  await using file = await RecordingFile.open(path);
  const timeline = await Timeline.read(file, signal);
  const { meta, calls, endAt, close, lost } = timeline;
  const end = timeline.isShortened ? 'shortened' : (close?.reason ?? 'cut-off');
  const pods = await RecordedPods.find(file, calls, signal);
  const durationOf = (call: RecordedCall): number => (call.endAt ?? endAt) - call.at;
  const answered = calls.filter(
    ({ code, method }) => code !== undefined && method.name !== 'GetContainerEvents',
  );
  const tell = async (some: readonly RecordedCall[]): Promise<CallSummary[]> => {
    const longest = [...some].sort((one, other) => durationOf(other) - durationOf(one));
    return Promise.all(
      longest.slice(0, MAX_LISTED_CALLS).map(async (call) => {
        const { subject, pod } = await pods.findOfCall(file, call);
        return {
          ...{ method: call.method.name, subject },
          pod: pod === undefined ? '' : `${pod.namespace}/${pod.name}`,
          podUid: pod?.uid ?? '',
          atMs: call.at / 1000,
          forMs: durationOf(call) / 1000,
        };
      }),
    );
  };
  return {
    ...{ startedAt: meta.startedAt, durationMs: endAt / 1000, mode: meta.mode, upstream: meta.upstream },
    ...{ isComplete: close !== undefined, end, part: meta.part, lost },
    methods: summarizeMethods(timeline, durationOf),
    slowest: await tell(answered),
    hangs: await tell(calls.filter((call) => timeline.hung(call))),
    errors: summarizeErrors(answered.filter((call) => !isTrial(call, meta.mode))),
    unsupported: [
      ...new Set(calls.filter((call) => isTrial(call, meta.mode)).map(({ method }) => method.name)),
    ].sort(),
    events: calls.reduce(
      (sum, { method, messages }) => sum + (method.name === 'GetContainerEvents' ? messages.length : 0),
      0,
    ),
    pods: pods.all,
  };
}

const UNIMPLEMENTED = 12;

/**
 * Whether a call has only found out that the runtime does not have the method. podloop tries the newest one and goes on with an
 * older one; of other clients that is known of lists that are streamed.
 */
export function isTrial({ code, method }: RecordedCall, mode: RecordingSummary['mode']): boolean {
  return code === UNIMPLEMENTED && (mode === 'observe' || method.name.startsWith('Stream'));
}

function summarizeMethods(
  timeline: Timeline,
  durationOf: (call: RecordedCall) => number,
): RecordingSummary['methods'] {
  const isFailed = (call: RecordedCall): boolean => call.code !== 0 && !isTrial(call, timeline.meta.mode);
  const byName = new Map<string, RecordedCall[]>();
  for (const call of timeline.calls) {
    const calls = byName.get(call.method.name);
    if (calls === undefined) byName.set(call.method.name, [call]);
    else calls.push(call);
  }
  return [...byName]
    .map(([method, calls]) => {
      const answered = calls.filter(({ code }) => code !== undefined);
      const durations = answered.map(durationOf).sort((one, other) => one - other);
      return {
        ...{ method, calls: calls.length, failed: answered.filter(isFailed).length },
        hung: calls.filter((call) => timeline.hung(call)).length,
        medianMs: (durations[Math.floor(durations.length / 2)] ?? 0) / 1000,
        maxMs: (durations.at(-1) ?? 0) / 1000,
      };
    })
    .sort((one, other) => other.calls - one.calls);
}

function summarizeErrors(calls: readonly RecordedCall[]): RecordingSummary['errors'] {
  const errors = new Map<string, { method: string; code: string; message: string; count: number }>();
  for (const { method, code = 0, message } of calls) {
    if (code === 0) continue;
    const key = `${method.name} ${code} ${message}`;
    const known = errors.get(key);
    if (known !== undefined) known.count++;
    else {
      const name = GRPC_STATUS_NAMES[code] ?? String(code);
      errors.set(key, { method: method.name, code: name, message, count: 1 });
    }
  }
  return [...errors.values()].sort((one, other) => other.count - one.count).slice(0, MAX_LISTED_ERRORS);
}
