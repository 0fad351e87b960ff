import { type CriClient } from '../cri/index.js';
import { SliceYielder } from '#base/async/slices.js';

/** How much of an answer is decoded between two turns of the event loop: about two milliseconds' worth. */
const BYTES_PER_SLICE = 64 * 1024;
const LIST_FIELD = 1;
const LENGTH_DELIMITED = 2;

/**
 * Calls `read` with the bytes of each item of a list answer (its field 1), with turns of the event loop
 * between.
 *
 * Other fields are skipped. Throws the decoder's error for bytes that are not a message.
 */
export async function forEachItem(
  client: Pick<CriClient, 'newReader'>,
  answer: Buffer,
  signal: AbortSignal | undefined,
  read: (item: Buffer) => void,
): Promise<void> {
  const slices = new SliceYielder({ itemsPerSlice: BYTES_PER_SLICE });
  const reader = client.newReader(answer);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field !== LIST_FIELD || (wireType as number) !== LENGTH_DELIMITED) {
      reader.skip(wireType, field);
      continue;
    }
    const { length } = reader.bytes();
    read(answer.subarray(reader.pos - length, reader.pos));
    if (slices.isFull(length)) {
      await slices.nextSlice();
      signal?.throwIfAborted();
    }
  }
}
