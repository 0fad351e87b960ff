import { createHash, type Hash } from 'node:crypto';
import { RpcCode, RpcError } from '../../rpc-error.js';

/** The algorithms of the OCI image specification that Node has, with the number of hexadecimal digits of each. */
const DIGITS: Readonly<Record<string, number>> = { sha256: 64, sha512: 128 };

/** Whether a text is a digest as we can check it: `sha256:` and 64 digits, or `sha512:` and 128. */
export function isDigest(text: string): boolean {
  const [algorithm = '', digits = '', ...more] = text.split(':');
  return more.length === 0 && DIGITS[algorithm] === digits.length && /^[0-9a-f]+$/.test(digits);
}

/** `sha256:…` of some bytes. */
export function sha256Of(content: string | Uint8Array): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

/** Adds up bytes as they pass and says at the end whether they are those that were announced. */
export class DigestCheck {
  readonly #what: string;
  readonly #digest: string;
  readonly #size: number | undefined;
  readonly #hash: Hash;
  #bytes = 0;

  /** `digest` has to be one that {@link isDigest} accepts; without a size any is right. */
  constructor(what: string, digest: string, size?: number) {
    this.#what = what;
    this.#digest = digest;
    this.#size = size;
    this.#hash = createHash(digest.split(':')[0]!);
  }

  /** Throws FAILED_PRECONDITION as soon as it is more than was announced. */
  add(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (this.#size !== undefined && this.#bytes > this.#size)
      throw this.#wrong(`it is longer than the announced ${this.#size} bytes`);
    this.#hash.update(chunk);
  }

  /** Throws FAILED_PRECONDITION, as containerd does, unless size and digest are right. */
  assert(): void {
    if (this.#size !== undefined && this.#bytes !== this.#size)
      throw this.#wrong(`it has ${this.#bytes} bytes instead of ${this.#size}`);
    const actual = `${this.#digest.split(':')[0]!}:${this.#hash.digest('hex')}`;
    if (actual !== this.#digest) throw this.#wrong(`its digest is ${actual} instead of ${this.#digest}`);
  }

  #wrong(why: string): RpcError {
    return new RpcError(RpcCode.FAILED_PRECONDITION, `${this.#what} is not what the image says: ${why}`);
  }
}
