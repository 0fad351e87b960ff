import { type ApiStatusCause, invalidError } from '../http/api-error.js';
import { isTrue } from '../http/api-request.js';
import { timeToNs } from './cri-log-line.js';
import { type LogSelection } from './log-printer.js';

/** The wanted part of a log. */
export interface WantedLog {
  readonly selection: LogSelection;
  readonly tailLines: number | undefined;
}

/** Parses the options of a log request. Throws Invalid with all problems, in an API server's words. */
export function readLogOptions(query: URLSearchParams, nowMs: number): WantedLog {
  const reader = new OptionReader(query);
  const tailLines = reader.number('tailLines', 0);
  const limitBytes = reader.number('limitBytes', 1);
  const sinceNs = reader.since(nowMs);
  const stream = reader.stream(tailLines);
  if (reader.causes.length > 0) throw invalidError('PodLogOptions', '', reader.causes);
  return { selection: { sinceNs, timestamps: isTrue(query, 'timestamps'), limitBytes, stream }, tailLines };
}

class OptionReader {
  readonly causes: ApiStatusCause[] = [];
  readonly #query: URLSearchParams;

  constructor(query: URLSearchParams) {
    this.#query = query;
  }

  number(field: string, least: number): number | undefined {
    const text = this.#text(field);
    if (text === '') return undefined;
    const number = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number >= least) return number;
    this.#complain(
      field,
      text,
      least === 0 ? 'must be greater than or equal to 0' : 'must be greater than 0',
    );
    return undefined;
  }

  since(nowMs: number): bigint | undefined {
    const seconds = this.number('sinceSeconds', 1);
    const time = this.#text('sinceTime');
    const ns = time === '' ? undefined : timeToNs(time);
    if (time !== '' && ns === undefined) this.#complain('sinceTime', time, 'must be a time in RFC 3339');
    if (seconds === undefined) return ns;
    if (time !== '') {
      const message = 'Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified';
      this.causes.push({ reason: 'FieldValueForbidden', message, field: 'sinceSeconds' });
    }
    return BigInt(Math.trunc(nowMs)) * 1_000_000n - BigInt(seconds) * 1_000_000_000n;
  }

  /** Lines are counted before their stream is read, so the last ten of one stream are not available. */
  stream(tailLines: number | undefined): LogSelection['stream'] {
    const text = this.#text('stream');
    if (tailLines !== undefined && (text === 'Stdout' || text === 'Stderr')) {
      const message = 'Forbidden: `tailLines` and a specific `stream` exclude one another';
      this.causes.push({ reason: 'FieldValueForbidden', message, field: 'stream' });
    }
    if (text === 'Stdout') return 'stdout';
    if (text === 'Stderr') return 'stderr';
    if (text !== '' && text !== 'All') this.#complain('stream', text, 'must be All, Stdout or Stderr');
    return undefined;
  }

  #text(field: string): string {
    return this.#query.get(field) ?? '';
  }

  #complain(field: string, text: string, rule: string): void {
    const value = /^-?\d+$/.test(text) ? text : JSON.stringify(text);
    this.causes.push({ reason: 'FieldValueInvalid', message: `Invalid value: ${value}: ${rule}`, field });
  }
}
