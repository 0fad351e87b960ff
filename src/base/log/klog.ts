import { type Clock } from '../time/clock.js';
import { messageOf } from '../errors/errors.js';
import { formatKlogLine, isObjectName, type KlogLevel, type ObjectName, toJson } from './klog-text.js';
import { matchesFile, type VModuleRule } from './log-settings.js';
import { type LogFields, type Logger } from './logger.js';
import { type SourcePlace } from './source-place.js';
import { SourcePlaces } from './source-places.js';

/** The output of a {@link KlogLogger} and its settings. */
export interface KlogLoggerOptions {
  /** Called with one line, without the line break. */
  readonly write: (line: string) => void;
  readonly clock: Pick<Clock, 'now'>;
  readonly pid: number;
  /** Info lines up to this verbosity are written, as with the kubelet's `-v`. */
  readonly verbosity: number;
  /** `json` is one object per line, as the kubelet's --logging-format=json (default: `text`). */
  readonly format?: 'text' | 'json';
  /** Other verbosities for some files, as with the kubelet's --vmodule (default: none). */
  readonly vmodule?: readonly VModuleRule[];
}

/** A {@link Logger} that writes in the kubelet's formats: klog text, or its JSON form. */
export class KlogLogger implements Logger {
  readonly #options: KlogLoggerOptions;
  readonly #vmodule: readonly VModuleRule[];
  /** The highest verbosity of any file: lines above it can be dropped without a lookup. */
  readonly #highest: number;
  /** Cached by file; there are as many as source files. */
  readonly #verbosities = new Map<string, number>();
  readonly #places = new SourcePlaces();

  constructor(options: KlogLoggerOptions) {
    this.#options = options;
    this.#vmodule = options.vmodule ?? [];
    this.#highest = Math.max(options.verbosity, ...this.#vmodule.map(({ verbosity }) => verbosity));
  }

  info(message: string, fields: LogFields = {}, v = 0): void {
    if (v > this.#highest) return;
    const place = this.#places.find(1);
    if (v <= this.#verbosityOf(place)) this.#log('I', v, message, fields, place);
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#log('W', 0, message, fields, this.#places.find(1));
  }

  error(message: string, error?: unknown, fields: LogFields = {}): void {
    const all = error === undefined ? fields : { err: messageOf(error), ...fields };
    this.#log('E', 0, message, all, this.#places.find(1));
  }

  enabled(v: number): boolean {
    if (this.#vmodule.length === 0 || v > this.#highest) return v <= this.#highest;
    return v <= this.#verbosityOf(this.#places.find(1));
  }

  #verbosityOf({ file }: SourcePlace): number {
    const { verbosity } = this.#options;
    if (this.#vmodule.length === 0) return verbosity;
    let known = this.#verbosities.get(file);
    if (known === undefined) {
      const rule = this.#vmodule.find(({ filePattern }) => matchesFile(filePattern, file));
      known = rule?.verbosity ?? verbosity;
      this.#verbosities.set(file, known);
    }
    return known;
  }

  #log(level: KlogLevel, v: number, message: string, given: LogFields, place: SourcePlace): void {
    const { write, clock, pid, format } = this.#options;
    const atMs = clock.now();
    const fields = withUids(given);
    if (format === 'json') {
      const caller = `${place.file}:${place.line}`;
      // Readers recognize errors by their missing verbosity; the kubelet does not mark warnings.
      const grade = level === 'I' ? { v } : level === 'W' ? { v, severity: 'warning' } : {};
      write(formatJsonLine({ ts: atMs, caller, msg: message, ...grade, ...fields }));
    } else {
      write(formatKlogLine({ level, atMs, pid, place, message, fields }));
    }
  }
}

/** Key by key, so that an unprintable value affects only itself. */
function formatJsonLine(record: LogFields): string {
  const entries = Object.entries(record).filter(([, value]) => value !== undefined);
  return `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${toJson(value, nameInJson)}`).join(',')}}`;
}

function nameInJson({ namespace, name, uid }: ObjectName): unknown {
  return name === '' ? uid : namespace === '' ? { name } : { name, namespace };
}

/** Adds pods' uids to a line that names pods, so that a search by uid finds every line about a pod. */
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
