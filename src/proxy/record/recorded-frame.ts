import { RECORDED_METHODS, type RecordedMethod } from './recorded-method.js';
import {
  type BeginFrame,
  type CloseFrame,
  type EndFrame,
  FrameKind,
  LARGEST_MESSAGE,
  type LostFrame,
  type MessageFrame,
  type MetaFrame,
} from './recording-format.js';

/** A frame of a recording, checked. Blobs are referred to by their number in the file. */
export type RecordedFrame =
  | ({ readonly kind: 'meta' } & MetaFrame)
  | { readonly kind: 'blob'; readonly blob: number; readonly begin: number; readonly length: number }
  | ({ readonly kind: 'begin'; readonly known: RecordedMethod | undefined } & BeginFrame)
  | ({ readonly kind: 'message' } & MessageFrame)
  | ({ readonly kind: 'end' } & EndFrame)
  | ({ readonly kind: 'lost' } & LostFrame)
  | ({ readonly kind: 'close' } & CloseFrame);

/** Much longer ones are not written any more; a runtime's error was once taken as it came. */
const MAX_JSON_LENGTH = LARGEST_MESSAGE;
/** A hundred years in microseconds: times in recordings are far below. */
const LATEST = 3.2e15;

const ENDED_BY = ['client', 'runtime', 'connection'] as const;

type Fields = Record<string, unknown>;

/** A frame that is JSON. Throws RangeError when it is not what its kind says; undefined for a kind of a newer writer. */
export function decodeJsonFrame(kind: number, body: Buffer): RecordedFrame | undefined {
  if (body.length > MAX_JSON_LENGTH) throw new RangeError(`a frame of ${body.length} bytes`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch {
    throw new RangeError('a frame that is no JSON');
  }
  if (typeof parsed !== 'object' || parsed === null) throw new RangeError('a frame that is no JSON object');
  const fields = parsed as Fields;
  switch (kind) {
    case FrameKind.META:
      return decodeMeta(fields);
    case FrameKind.BEGIN: {
      const method = getText(fields, 'method');
      return {
        ...{ kind: 'begin', known: RECORDED_METHODS.get(method), method },
        ...{ call: getCount(fields, 'call'), at: getTime(fields) },
        connection: getCount(fields, 'connection'),
        ...(fields['request'] === undefined ? {} : { request: getCount(fields, 'request') }),
        ...(fields['timeout'] === undefined ? {} : { timeout: getText(fields, 'timeout') }),
      };
    }
    case FrameKind.MESSAGE:
      return {
        ...{ kind: 'message', call: getCount(fields, 'call'), at: getTime(fields) },
        ...(fields['blob'] === undefined ? {} : { blob: getCount(fields, 'blob') }),
      };
    case FrameKind.END:
      return {
        ...{ kind: 'end', call: getCount(fields, 'call'), at: getTime(fields) },
        ...(fields['code'] === undefined ? {} : { code: getCount(fields, 'code') }),
        ...(fields['message'] === undefined ? {} : { message: getText(fields, 'message') }),
        ...(fields['by'] === undefined ? {} : { by: getOneOf(fields, 'by', ENDED_BY) }),
        ...(fields['missing'] === undefined ? {} : { missing: getCount(fields, 'missing') }),
      };
    case FrameKind.LOST:
      return {
        ...{ kind: 'lost', at: getTime(fields) },
        ...{ calls: getCount(fields, 'calls'), messages: getCount(fields, 'messages') },
      };
    case FrameKind.CLOSE:
      return {
        ...{ kind: 'close', at: getTime(fields) },
        reason: getOneOf(fields, 'reason', ['stopped', 'full', 'rolled']),
        ...{ calls: getCount(fields, 'calls'), redacted: getCount(fields, 'redacted') },
        unknownFields: getCount(fields, 'unknownFields'),
        unreadable: getCount(fields, 'unreadable'),
      };
    default:
      return undefined;
  }
}

function decodeMeta(fields: Fields): RecordedFrame {
  const rules = (fields['rules'] ?? {}) as Fields;
  const patterns = rules['keepAnnotations'];
  if (!Array.isArray(patterns) || patterns.some((pattern) => typeof pattern !== 'string'))
    throw new RangeError('a frame with a wrong "rules"');
  const startedAt = getText(fields, 'startedAt');
  if (Number.isNaN(Date.parse(startedAt))) throw new RangeError('a frame with a wrong "startedAt"');
  return {
    ...{ kind: 'meta', startedAt, podloop: getText(fields, 'podloop') },
    mode: getOneOf(fields, 'mode', ['relay', 'observe']),
    ...{ upstream: getText(fields, 'upstream'), part: getCount(fields, 'part') },
    rules: {
      keepAnnotations: patterns as string[],
      keepCommands: rules['keepCommands'] === true,
      keepOutput: rules['keepOutput'] === true,
    },
  };
}

function getText(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value === 'string') return value;
  throw new RangeError(`a frame with a wrong "${name}"`);
}

function getCount(fields: Fields, name: string): number {
  const value = fields[name];
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new RangeError(`a frame with a wrong "${name}"`);
}

function getTime(fields: Fields): number {
  const value = fields['at'];
  if (Number.isSafeInteger(value) && Math.abs(value as number) < LATEST) return value as number;
  throw new RangeError('a frame with a wrong "at"');
}

function getOneOf<Word extends string>(fields: Fields, name: string, words: readonly Word[]): Word {
  const found = words.find((word) => word === fields[name]);
  if (found !== undefined) return found;
  throw new RangeError(`a frame with a wrong "${name}"`);
}
