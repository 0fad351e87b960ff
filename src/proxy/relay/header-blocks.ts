import { type FieldsToSend } from './call-handler.js';
import { encodeBlockFrames, encodeHeaderFrames, FrameType } from './frame-format.js';
import { type HeaderUnit } from './header-unit.js';
import { encodeStateless } from './hpack/encode-stateless.js';
import { type DecodedHeaders, HpackDecoder } from './hpack/hpack-decoder.js';

/**
 * The header blocks of one direction of a connection: decoded, and re-encoded where necessary.
 *
 * Blocks depend on those before them. As long as each goes on in its place they go on as they are; from the first one
 * on that changed the sender's table and did not go on in its place, all are written anew, in a way that needs no table.
 */
export class HeaderBlocks {
  readonly #decoder = new HpackDecoder();
  #isTranslating = false;
  /** Table limits that were not sent to the reader yet. */
  #tableSizes: number[] = [];

  /** Whether blocks are re-encoded from now on. */
  get isTranslating(): boolean {
    return this.#isTranslating;
  }

  /** Reads a block; all have to come here, in their order. Throws HpackError. */
  decode({ block }: HeaderUnit): DecodedHeaders {
    return this.#decoder.decode(block);
  }

  /** A block does not go on in its place as it came. */
  noteAltered(decoded: DecodedHeaders): void {
    if (!decoded.leavesTableAlone) this.#isTranslating = true;
    this.#tableSizes.push(...decoded.tableSizes);
  }

  /** Writes a block that is not the source's own. */
  encode(fields: FieldsToSend): Buffer {
    const sizes = this.#tableSizes;
    this.#tableSizes = [];
    return encodeStateless(fields, sizes);
  }

  /** What goes on in the place of a block that passes, `withoutEnd` if the stream is not to end with it. */
  pass(unit: HeaderUnit, decoded: DecodedHeaders, withoutEnd = false): 'pass' | readonly Buffer[] {
    if (!this.#isTranslating && !withoutEnd) return 'pass';
    let { block } = unit;
    if (this.#isTranslating) {
      this.noteAltered(decoded);
      block = this.encode(decoded.fields);
    }
    if (unit.promised !== undefined) {
      const promise = Buffer.concat([unit.promised, block]);
      return [encodeBlockFrames(FrameType.PUSH_PROMISE, 0, unit.streamId, promise)];
    }
    return [encodeHeaderFrames(unit.streamId, block, unit.endStream && !withoutEnd)];
  }
}
