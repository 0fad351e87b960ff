import { type Clock } from './clock.js';
import { messageOf } from './errors.js';
import { formatKlogLine, isObjectName, type KlogLevel, type ObjectName, toJson } from './klog-text.js';
import { type LogFields, type Logger } from './logger.js';
import { findSourcePlace, type SourcePlace } from './source-place.js';

/** Where a {@link KlogLogger} writes and how. */
export interface KlogLoggerOptions {
  /** Takes one line, without the line break. */
  readonly write: (line: string) => void;
  readonly clock: Pick<Clock, 'now'>;
  readonly pid: number;
  /** Info lines up to this verbosity are shown, as the kubelet's `-v`. */
  readonly verbosity: number;
  /** `text` unless told; `json` is one object a line, as the kubelet's --logging-format=json. */
  readonly format?: 'text' | 'json';
}

/** A {@link Logger} that writes what the kubelet's log readers know: klog text, or its JSON form. */
export class KlogLogger implements Logger {
  readonly #options: KlogLoggerOptions;

  constructor(options: KlogLoggerOptions) {
    this.#options = options;
  }

  info(message: string, fields: LogFields = {}, v = 0): void {
    if (this.enabled(v)) this.#log('I', v, message, fields, findSourcePlace(1));
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#log('W', 0, message, fields, findSourcePlace(1));
  }

  error(message: string, error?: unknown, fields: LogFields = {}): void {
    const all = error === undefined ? fields : { err: messageOf(error), ...fields };
    this.#log('E', 0, message, all, findSourcePlace(1));
  }

  enabled(v: number): boolean {
    return v <= this.#options.verbosity;
  }

  #log(level: KlogLevel, v: number, message: string, given: LogFields, place: SourcePlace): void {
    const { write, clock, pid, format } = this.#options;
    const atMs = clock.now();
    const fields = withUids(given);
    if (format === 'json') {
      const caller = `${place.file}:${place.line}`;
      // Errors have no verbosity, which is how readers tell them; warnings the kubelet does not tell apart.
      const grade = level === 'I' ? { v } : level === 'W' ? { v, severity: 'warning' } : {};
      write(formatJsonLine({ ts: atMs, caller, msg: message, ...grade, ...fields }));
    } else {
      write(formatKlogLine({ level, atMs, pid, place, message, fields }));
    }
  }
}

/** Key by key, so that one value that cannot be printed costs only itself. */
function formatJsonLine(record: LogFields): string {
  const entries = Object.entries(record).filter(([, value]) => value !== undefined);
  return `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${toJson(value, nameInJson)}`).join(',')}}`;
}

function nameInJson({ namespace, name, uid }: ObjectName): unknown {
  return name === '' ? uid : namespace === '' ? { name } : { name, namespace };
}

/** Whoever searches by a pod's uid is to find every line about it: a line that names pods has their uids, too. */
function withUids(fields: LogFields): LogFields {
  let all = fields;
  const { pod, pods, podUID } = fields;
  if (podUID === undefined && isObjectName(pod) && pod.uid !== undefined) {
    all = insertBehind(all, 'pod', { podUID: pod.uid });
  }
  if (!Array.isArray(pods)) return all;
  const podUIDs = (pods as readonly unknown[]).flatMap((each) =>
    isObjectName(each) ? (each.uid ?? []) : [],
  );
  return podUIDs.length === 0 ? all : insertBehind(all, 'pods', { podUIDs });
}

function insertBehind(fields: LogFields, before: string, more: LogFields): LogFields {
  const entries = Object.entries(fields);
  const at = entries.findIndex(([key]) => key === before) + 1;
  return Object.fromEntries([...entries.slice(0, at), ...Object.entries(more), ...entries.slice(at)]);
}
