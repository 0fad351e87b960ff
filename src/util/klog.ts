import { type Clock } from './clock.js';
import { messageOf } from './errors.js';
import { formatKlogLine, type KlogLevel, type ObjectName, toJson } from './klog-text.js';
import { type LogFields, type Logger } from './logger.js';

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
  /** Printed as the place of every line; each caller's own file and line unless told. */
  readonly source?: string;
}

/** A place in the source: file without folders, and line. */
interface SourcePlace {
  readonly file: string;
  readonly line: number;
}

/** A {@link Logger} that writes what the kubelet's log readers know: klog text, or its JSON form. */
export class KlogLogger implements Logger {
  readonly #options: KlogLoggerOptions;

  constructor(options: KlogLoggerOptions) {
    this.#options = options;
  }

  info(message: string, fields: LogFields = {}, v = 0): void {
    if (this.enabled(v)) this.#log('I', v, message, fields, this.#findPlace());
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#log('W', 0, message, fields, this.#findPlace());
  }

  error(message: string, error?: unknown, fields: LogFields = {}): void {
    const all = error === undefined ? fields : { err: messageOf(error), ...fields };
    this.#log('E', 0, message, all, this.#findPlace());
  }

  enabled(v: number): boolean {
    return v <= this.#options.verbosity;
  }

  #log(level: KlogLevel, v: number, message: string, fields: LogFields, place: SourcePlace): void {
    const { write, clock, pid, format } = this.#options;
    const atMs = clock.now();
    if (format === 'json') {
      const caller = `${place.file}:${place.line}`;
      // Errors have no verbosity, which is how readers tell them; warnings the kubelet does not tell apart.
      const grade = level === 'I' ? { v } : level === 'W' ? { v, severity: 'warning' } : {};
      write(formatJsonLine({ ts: atMs, caller, msg: message, ...grade, ...fields }));
    } else {
      const { file: source, line: sourceLine } = place;
      write(formatKlogLine({ level, atMs, pid, source, sourceLine, message, fields }));
    }
  }

  #findPlace(): SourcePlace {
    const { source } = this.#options;
    return source === undefined ? findCaller() : { file: source, line: 1 };
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

/** The place that called info, warn or error, as far as the stack tells. */
function findCaller(): SourcePlace {
  const limit = Error.stackTraceLimit;
  // #findPlace, the method, its caller: three frames cost microseconds, the usual ten many more.
  Error.stackTraceLimit = 3;
  const trace: { stack?: string } = {};
  Error.captureStackTrace(trace, findCaller);
  const place = /([^/\\(]+):(\d+):\d+\)?$/.exec(trace.stack ?? '');
  Error.stackTraceLimit = limit;
  return place ? { file: place[1]!, line: Number(place[2]) } : { file: 'unknown', line: 1 };
}
