/**
 * The Huffman code of HPACK (RFC 7541, appendix B), for reading.
 *
 * The code is canonical: within a length it counts up with the symbols, and each length goes on where the one before
 * ended. So the symbols by their length are the whole of it.
 *
 * @module
 */
import { HpackError } from './hpack-error.js';

/** Length of a code in bits, and the symbols that have it, in order. */
const SYMBOLS_BY_LENGTH: readonly (readonly [bits: number, symbols: readonly number[]])[] = [
  [5, [48, 49, 50, 97, 99, 101, 105, 111, 115, 116]],
  [
    6,
    [32, 37, 45, 46, 47, ...range(51, 57), 61, 65, 95, 98, 100, 102, 103, 104, 108, 109, 110, 112, 114, 117],
  ],
  [7, [58, ...range(66, 87), 89, 106, 107, 113, ...range(118, 122)]],
  [8, [38, 42, 44, 59, 88, 90]],
  [10, [33, 34, 40, 41, 63]],
  [11, [39, 43, 124]],
  [12, [35, 62]],
  [13, [0, 36, 64, 91, 93, 126]],
  [14, [94, 125]],
  [15, [60, 96, 123]],
  [19, [92, 195, 208]],
  [20, [128, 130, 131, 162, 184, 194, 224, 226]],
  [21, [153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230]],
  [
    22,
    [
      ...[129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170, 173, 178, 181, 185, 186, 187],
      ...[189, 190, 196, 198, 228, 232, 233],
    ],
  ],
  [
    23,
    [
      ...[1, 135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155, 157, 158, 165, 166, 168, 174],
      ...[175, 180, 182, 183, 188, 191, 197, 231, 239],
    ],
  ],
  [24, [9, 142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237]],
  [25, [199, 207, 234, 235]],
  [26, [192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255]],
  [27, [203, 204, 211, 212, 214, 221, 222, 223, 241, 244, ...range(245, 248), 250, 251, 252, 253, 254]],
  [28, [...range(2, 8), 11, 12, ...range(14, 21), ...range(23, 31), 127, 220, 249]],
  [30, [10, 13, 22, 256]],
];

/** The symbol that no text may hold. */
const END_OF_STRING = 256;
const MAX_CODE_BITS = 30;
/** What may be left at the end is fewer bits than a byte, all ones. */
const MAX_PADDING_BITS = 7;
/** Number of bits that one lookup reads; the codes of nearly all that headers are made of are no longer. */
const TABLE_BITS = 8;

interface CodeLength {
  readonly bits: number;
  /** The first code of that length, as a number of that many bits. */
  readonly first: number;
  readonly symbols: readonly number[];
}

const LENGTHS = computeLengths();
const TABLE = computeTable();

/** Decodes a Huffman-coded string to bytes, one for each symbol. Throws HpackError when it is no such code. */
export function decodeHuffman(coded: Buffer): Buffer {
  // The shortest code has five bits.
  const text = Buffer.allocUnsafe(Math.floor((coded.length * 8) / 5));
  let length = 0;
  let [window, bits, at] = [0, 0, 0];
  for (;;) {
    while (bits <= 24 && at < coded.length) {
      window = ((window << 8) | coded[at++]!) >>> 0;
      bits += 8;
    }
    if (bits === 0) break;
    // The next eight bits, filled up with ones behind the end as the padding is.
    const peek = bits >= TABLE_BITS ? (window >>> (bits - TABLE_BITS)) & 0xff : fillUp(window, bits);
    const entry = TABLE[peek]!;
    if (entry !== 0 && entry >> 8 <= bits) {
      text[length++] = entry & 0xff;
      bits -= entry >> 8;
      window &= mask(bits);
      continue;
    }
    if (at === coded.length && bits <= MAX_PADDING_BITS && window === mask(bits)) break;
    const [symbol, used] = decodeLong(coded, at, window, bits);
    text[length++] = symbol;
    bits += (used.at - at) * 8 - used.bits;
    window = used.window;
    at = used.at;
  }
  return text.subarray(0, length);
}

/** One symbol of more bits than the table has: bit by bit, since hardly any header has one. */
function decodeLong(
  coded: Buffer,
  startAt: number,
  startWindow: number,
  startBits: number,
): [symbol: number, used: { at: number; bits: number; window: number }] {
  let [code, length, left, window, at] = [0, 0, startBits, startWindow, startAt];
  while (length < MAX_CODE_BITS) {
    if (left === 0) {
      if (at === coded.length) throw new HpackError('a Huffman-coded string ends within a symbol');
      window = coded[at++]!;
      left = 8;
    }
    left--;
    code = code * 2 + ((window >>> left) & 1);
    window &= mask(left);
    length++;
    const found = LENGTHS.find(({ bits }) => bits === length);
    if (found === undefined || code < found.first || code - found.first >= found.symbols.length) continue;
    const symbol = found.symbols[code - found.first]!;
    if (symbol === END_OF_STRING) break;
    return [symbol, { at, bits: length, window }];
  }
  throw new HpackError('a Huffman-coded string holds a code that has no meaning');
}

function computeLengths(): CodeLength[] {
  const lengths: CodeLength[] = [];
  let [next, bitsBefore] = [0, 0];
  for (const [bits, symbols] of SYMBOLS_BY_LENGTH) {
    const first = next * 2 ** (bits - bitsBefore);
    lengths.push({ bits, first, symbols });
    next = first + symbols.length;
    bitsBefore = bits;
  }
  return lengths;
}

/** By the next eight bits: length and symbol of the code that they begin with; 0 when it is longer. */
function computeTable(): Uint16Array {
  const table = new Uint16Array(2 ** TABLE_BITS);
  for (const { bits, first, symbols } of LENGTHS) {
    if (bits > TABLE_BITS) continue;
    for (const [index, symbol] of symbols.entries()) {
      const begin = (first + index) << (TABLE_BITS - bits);
      table.fill((bits << 8) | symbol, begin, begin + 2 ** (TABLE_BITS - bits));
    }
  }
  return table;
}

function fillUp(window: number, bits: number): number {
  const missing = TABLE_BITS - bits;
  return ((window << missing) | mask(missing)) & 0xff;
}

function mask(bits: number): number {
  return bits >= 32 ? 0xffffffff : ~(-1 << bits) >>> 0;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
