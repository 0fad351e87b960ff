import { createHash } from 'node:crypto';
import { findBytes, ifReadable, readFields, readString, WireType } from '#base/wire/protobuf-fields.js';
import { SliceYielder } from '#base/async/slices.js';
import { kindOf, subjectOfRead } from '../method-kinds.js';
import { type RecordedMethod } from '../recorded-method.js';
import { type RecordingFile } from '../recording-file.js';
import { type RecordedCall, type Timeline } from './timeline.js';

const CALLS_PER_SLICE = 200;
const EMPTY = Buffer.alloc(0);

/** The calls of a recording by what they asked, so that for a question there is the one that it was at some moment. */
export class CallIndex {
  readonly #calls = new Map<string, RecordedCall[]>();
  readonly #methods = new Set<string>();

  /** Reads every request once. */
  static async create(file: RecordingFile, timeline: Timeline): Promise<CallIndex> {
    const index = new CallIndex();
    /** Requests come again and again. */
    const keys = new Map<string, string>();
    const slices = new SliceYielder({ itemsPerSlice: CALLS_PER_SLICE });
    for (const call of timeline.calls) {
      // A call that was cancelled at once, or cut off by the end of the recording, says nothing.
      if (call.code === undefined && !timeline.hung(call)) continue;
      // Of what the node was like lists and statuses say more than this one; of all else there is no other answer.
      if (call.code === 0 && !call.isWhole && isRepeated(call.method)) continue;
      const question = `${call.method.name} ${call.request}`;
      let key = keys.get(question);
      if (key === undefined) {
        const request = call.request === undefined ? EMPTY : await file.readBlob(call.request);
        key = keyOf(call.method, request);
        keys.set(question, key);
      }
      const list = index.#calls.get(key) ?? [];
      index.#calls.set(key, list);
      list.push(call);
      index.#methods.add(call.method.name);
      if (slices.isFull()) await slices.nextSlice();
    }
    return index;
  }

  /** Whether anybody asked it at all. */
  has({ name }: RecordedMethod): boolean {
    return this.#methods.has(name);
  }

  /** The last call that asked this, as of that moment; undefined when nobody had. */
  findLatest(method: RecordedMethod, request: Buffer, at: number): RecordedCall | undefined {
    const calls = this.#calls.get(keyOf(method, request)) ?? [];
    let [from, to] = [0, calls.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (calls[middle]!.at <= at) from = middle + 1;
      else to = middle;
    }
    return calls[from - 1];
  }

  /** The first call that asked this and was answered with success, at whichever time. */
  findFirstSuccess(method: RecordedMethod, request: Buffer): RecordedCall | undefined {
    return this.#calls.get(keyOf(method, request))?.find(({ code }) => code === 0);
  }
}

/** Whether it is answered with what was answered then. */
function isRepeated(method: RecordedMethod): boolean {
  const kind = kindOf(method);
  return kind === 'read' || kind === 'change';
}

/** What is the same of questions that are answered alike; the request is one without secrets. */
function keyOf(method: RecordedMethod, request: Buffer): string {
  const kind = kindOf(method);
  if (kind === 'list' || kind === 'events' || kind === 'stream') return method.name;
  const subject = kind === 'read' ? subjectOfRead(method) : kind === 'status' ? 'id' : 'request';
  switch (subject) {
    case 'nothing':
      return method.name;
    case 'id':
      return `${method.name}/${ifReadable(() => readString(request, 1)) ?? ''}`;
    case 'image':
      return `${method.name}/${ifReadable(() => readString(findBytes(request, 1) ?? EMPTY, 1)) ?? ''}`;
    case 'request': {
      // Without a filter, or with an empty one: some clients write it, some do not.
      if (kind === 'read' && isEmpty(request)) return method.name;
      return `${method.name}#${createHash('sha256').update(request).digest('base64')}`;
    }
  }
}

/** Whether a message says nothing: all that it has is empty. */
function isEmpty(message: Buffer): boolean {
  const read = (): boolean =>
    [...readFields(message)].every(({ wireType, value, bytes }) =>
      wireType === WireType.BYTES ? isEmpty(bytes) : wireType === WireType.VARINT && value === 0,
    );
  return message.length === 0 || (ifReadable(read) ?? false);
}
