import {
  BLOCK_BYTES,
  decodeHeader,
  decodePax,
  EntryKind,
  padding,
  TarError,
  type TarHeader,
} from './tar-header.js';

/** An entry, and its content, which is there until the next entry is asked for. */
export interface TarEntry {
  readonly header: TarHeader;
  readonly content: AsyncIterable<Buffer>;
}

/** No name and no extended header is longer. */
const MAX_EXTENSION_BYTES = 1024 * 1024;

/** The entries of a tar as it comes. Throws {@link TarError} when it is none, or ends too early. */
export async function* readTar(chunks: AsyncIterable<Buffer>): AsyncGenerator<TarEntry, void, undefined> {
  const reader = new BlockReader(chunks);
  let extension: Partial<TarHeader> = {};
  for (;;) {
    const block = await reader.take(BLOCK_BYTES);
    // A tar may just end; what it should have at its end is often missing.
    const header = block === undefined ? undefined : decodeHeader(block);
    if (header === undefined) break;
    const { kind, size } = header;
    if (isExtension(kind)) {
      const body = await reader.takeAll(size, MAX_EXTENSION_BYTES);
      await reader.takeAll(padding(size).length, BLOCK_BYTES);
      extension = { ...extension, ...readExtension(kind, body) };
      continue;
    }
    const whole = { ...header, ...extension };
    extension = {};
    const content = reader.content(whole.size);
    yield { header: whole, content };
    // What nobody has read is passed over.
    await passOver(content);
    await reader.takeAll(padding(whole.size).length, BLOCK_BYTES);
  }
  await reader.drain();
}

async function passOver(content: AsyncIterable<Buffer>): Promise<void> {
  const chunks = content[Symbol.asyncIterator]();
  while ((await chunks.next()).done !== true);
}

function isExtension(kind: string): boolean {
  const { paxHeader, paxGlobal, gnuLongName, gnuLongLink } = EntryKind;
  return [paxHeader, paxGlobal, gnuLongName, gnuLongLink].some((one) => one === kind);
}

function readExtension(kind: string, body: Buffer): Partial<TarHeader> {
  const end = body.indexOf(0);
  const text = body.toString('utf8', 0, end === -1 ? body.length : end);
  if (kind === EntryKind.gnuLongName) return { name: text };
  if (kind === EntryKind.gnuLongLink) return { target: text };
  // Those for all entries say nothing that is used here.
  if (kind === EntryKind.paxGlobal) return {};
  const records = decodePax(body);
  const [name, target, size] = [records.get('path'), records.get('linkpath'), records.get('size')];
  if (size !== undefined && !/^\d{1,15}$/.test(size)) throw new TarError('the size of an entry is no number');
  return {
    ...(name === undefined ? {} : { name }),
    ...(target === undefined ? {} : { target }),
    ...(size === undefined ? {} : { size: Number(size) }),
  };
}

/** Cuts bytes that come in chunks of any length into pieces that are asked for. */
class BlockReader {
  readonly #chunks: AsyncIterator<Buffer, undefined>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  }

  /** So many bytes; undefined when there are none any more. */
  async take(count: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = [];
    let missing = count;
    while (missing > 0) {
      const part = await this.#some(missing);
      if (part === undefined) break;
      parts.push(part);
      missing -= part.length;
    }
    if (missing === 0) return Buffer.concat(parts);
    if (missing < count) throw new TarError('unexpected EOF');
    return undefined;
  }

  async takeAll(count: number, limit: number): Promise<Buffer> {
    if (count > limit) throw new TarError(`${count} bytes of a name`);
    if (count === 0) return Buffer.alloc(0);
    const taken = await this.take(count);
    if (taken === undefined) throw new TarError('unexpected EOF');
    return taken;
  }

  /** The next bytes as they come; goes on where somebody stopped reading. */
  content(size: number): AsyncIterable<Buffer> {
    let left = size;
    const next = async (): Promise<IteratorResult<Buffer, undefined>> => {
      if (left === 0) return { done: true, value: undefined };
      const part = await this.#some(left);
      if (part === undefined) throw new TarError('unexpected EOF');
      left -= part.length;
      return { done: false, value: part };
    };
    return { [Symbol.asyncIterator]: () => ({ next }) };
  }

  /** Passes over the rest. */
  async drain(): Promise<void> {
    this.#rest = Buffer.alloc(0);
    while ((await this.#chunks.next()).done !== true);
  }

  async #some(most: number): Promise<Buffer | undefined> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done === true) return undefined;
      this.#rest = value;
    }
    const part = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }
}
