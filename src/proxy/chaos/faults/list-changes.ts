import { GrpcMessage } from '../../relay/index.js';
import { LIST_FIELDS } from '../cri-fields.js';
import { makeUnknownField, type ProtobufField, readFields } from '#base/wire/protobuf-fields.js';

/** An answer that is a list: one message, or many when it is streamed. */
export type ListAnswer = readonly GrpcMessage[];

/**
 * Leaves out the items that `isCandidate` chooses, but for the first `keep` of them. Says how many were left out of how
 * many items.
 */
export function truncateList(
  answer: ListAnswer,
  keep: number,
  isCandidate: (item: Buffer) => boolean,
): { readonly answer: ListAnswer; readonly leftOut: number; readonly items: number } {
  let [items, candidates, leftOut] = [0, 0, 0];
  const stays = ({ number, bytes }: ProtobufField): boolean => {
    if (number !== LIST_FIELDS.items) return true;
    items++;
    if (!isCandidate(bytes)) return true;
    candidates++;
    if (candidates <= keep) return true;
    leftOut++;
    return false;
  };
  const changed = answer.map((message) => {
    const kept = [...readFields(message.payload)].filter(stays);
    return GrpcMessage.of(Buffer.concat(kept.map(({ whole }) => whole)));
  });
  return { answer: changed, leftOut, items };
}

/**
 * Makes the first message of a list so large that its length is `toBytes` at least, by a field that no reader knows:
 * whoever gets as far as reading it reads the same list.
 */
export function growList(answer: ListAnswer, toBytes: number): ListAnswer {
  const [first, ...others] = answer;
  const payload = first?.payload ?? Buffer.alloc(0);
  if (payload.length >= toBytes) return answer;
  const grown = Buffer.concat([payload, makeUnknownField(toBytes - payload.length)]);
  return [GrpcMessage.of(grown), ...others];
}
