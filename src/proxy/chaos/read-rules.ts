import { createReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { MAX_RULES_BYTES } from './rules-file.js';

/**
 * The text of a rules file, for `parseRules`. Of one that is too large it is only so much that `parseRules` says so.
 *
 * Throws RULES_INVALID when it cannot be read.
 */
export async function readRules(file: string): Promise<string> {
  try {
    // `end` is the last byte that is read: one more than there may be.
    return (await buffer(createReadStream(file, { end: MAX_RULES_BYTES }))).toString();
  } catch (error) {
    throw new PodloopError('RULES_INVALID', `${file}: cannot be read: ${messageOf(error)}`, { cause: error });
  }
}
