import { type ByteSource } from './byte-source.js';
import { NO_RECORDS, parsePaxRecords, paxNumber, paxTime, type PaxRecords } from './pax-records.js';
import { checkMap, readGnuMap, readPaxMap, readStoredMap, type SparsePart } from './sparse-map.js';
import { type ContentPiece, type DecodeName, TarError, type TarEntry } from './tar-entry.js';
import { BLOCK, decodeText, readHeader, readSize, toTarKind, type TarHeader } from './tar-header.js';

/** An extended header or a long name is buffered in memory: real ones have some hundred bytes. */
const MAX_EXTENSION_BYTES = 1024 * 1024;
/** No extended header says more than a few things about one entry. */
const MAX_EXTENSIONS = 16;

/** What the headers before an entry say of it. */
interface Extensions {
  name?: string;
  linkName?: string;
  records: PaxRecords;
}

/**
 * The entries of an archive in the order in which they stand there: POSIX ustar and pax, GNU's long names and sparse
 * files in all four formats, and what is older.
 *
 * Nothing is judged here: names may climb out, links lead anywhere. Throws {@link TarError} where the archive is damaged. An
 * archive may end with blocks of zeros or with its last entry.
 *
 * @param decodeName makes text of the bytes of names (default: throws for what is not UTF-8).
 */
export async function* readTar(
  source: ByteSource,
  decodeName: DecodeName = decodeText,
): AsyncGenerator<TarEntry> {
  let defaults = NO_RECORDS;
  for (;;) {
    const said: Extensions = { records: defaults };
    const found = await readEntryHeader(source, said, {
      decodeName,
      setDefaults: (records) => (defaults = records),
    });
    if (found === undefined) return;
    const { entry, end } = await toEntry(source, found, said);
    yield entry;
    await skipTo(source, end);
  }
}

/** Reads up to the next header that is an entry, and into `said` what the headers before it say. */
async function readEntryHeader(
  source: ByteSource,
  said: Extensions,
  {
    decodeName,
    setDefaults,
  }: { readonly decodeName: DecodeName; readonly setDefaults: (records: PaxRecords) => void },
): Promise<{ header: TarHeader; block: Buffer } | undefined> {
  for (let extensions = 0; ; extensions++) {
    const block = await source.read(BLOCK);
    if (block.length === 0) {
      if (extensions > 0) throw new TarError('it ends after an extended header');
      return undefined;
    }
    if (block.length < BLOCK) throw new TarError('it ends within a header');
    const header = readHeader(block, decodeName);
    if (header === undefined) return undefined;
    if (!'xXgLKV'.includes(header.flag)) return { header, block };
    if (extensions >= MAX_EXTENSIONS) throw new TarError('too many extended headers stand before one entry');
    const data = await readExtension(source, header);
    switch (header.flag) {
      case 'g': {
        const records = parsePaxRecords(data, NO_RECORDS, decodeName);
        setDefaults(records);
        said.records = records;
        break;
      }
      case 'L':
        said.name = upToZero(data, decodeName);
        break;
      case 'K':
        said.linkName = upToZero(data, decodeName);
        break;
      case 'V':
        // The name of a volume of a backup.
        break;
      default:
        said.records = parsePaxRecords(data, said.records, decodeName);
    }
  }
}

async function readExtension(source: ByteSource, { flag, size }: TarHeader): Promise<Buffer> {
  if (size > MAX_EXTENSION_BYTES)
    throw new TarError(
      `an extended header of type "${flag}" claims ${size} bytes; ${MAX_EXTENSION_BYTES} are allowed`,
    );
  const data = await source.read(size);
  if (data.length < size) throw new TarError('it ends within an extended header');
  await skipTo(source, source.position + padding(size));
  return data;
}

async function toEntry(
  source: ByteSource,
  { header, block }: { header: TarHeader; block: Buffer },
  said: Extensions,
): Promise<{ entry: TarEntry; end: number }> {
  const { records } = said;
  const { values } = records;
  const name = values.get('GNU.sparse.name') ?? values.get('path') ?? said.name ?? header.name;
  const kind = toTarKind({ ...header, name });
  let storedSize = kind === 'file' ? (paxNumber(records, 'size') ?? header.size) : 0;
  const end = source.position + storedSize + padding(storedSize);
  if (!Number.isSafeInteger(end)) throw new TarError(`"${name.slice(0, 100)}" claims an absurd size`);

  let parts: SparsePart[] | undefined;
  let size = storedSize;
  if (header.flag === 'S') {
    // The blocks of the map come before the content and are not counted with it.
    const before = source.position;
    parts = await readGnuMap(block, source);
    size = readSize(block, 483, 12);
    return finish(end + source.position - before);
  }
  if (kind === 'file' && values.get('GNU.sparse.major') === '1') {
    const map = await readStoredMap(source, storedSize);
    parts = map.parts;
    storedSize -= map.length;
  } else if (kind === 'file') parts = readPaxMap(records);
  if (parts !== undefined)
    size = paxNumber(records, 'GNU.sparse.realsize') ?? paxNumber(records, 'GNU.sparse.size') ?? size;
  return finish(end);

  function finish(entryEnd: number): { entry: TarEntry; end: number } {
    if (parts !== undefined) checkMap(parts, size, storedSize);
    const stored = { offset: source.position, size: storedSize };
    const map = parts ?? [{ offset: 0, length: storedSize }];
    const entry: TarEntry = {
      kind,
      name,
      linkName: values.get('linkpath') ?? said.linkName ?? header.linkName,
      mode: header.mode,
      uid: paxNumber(records, 'uid') ?? header.uid,
      gid: paxNumber(records, 'gid') ?? header.gid,
      size,
      mtime: paxTime(records, 'mtime') ?? header.mtime,
      deviceMajor: header.deviceMajor,
      deviceMinor: header.deviceMinor,
      attributes: attributesOf(records),
      stored,
      content: () => readContent(source, map, name),
    };
    return { entry, end: entryEnd };
  }
}

async function* readContent(
  source: ByteSource,
  parts: readonly SparsePart[],
  name: string,
): AsyncGenerator<ContentPiece> {
  for (const part of parts) {
    let offset = part.offset;
    for await (const data of source.pieces(part.length)) {
      yield { offset, data };
      offset += data.length;
    }
    if (offset < part.offset + part.length) throw new TarError(`it ends within "${name.slice(0, 100)}"`);
  }
}

function attributesOf({ values }: PaxRecords): Map<string, string> {
  const prefix = 'SCHILY.xattr.';
  const entries = [...values].filter(([key]) => key.startsWith(prefix));
  return new Map(entries.map(([key, value]) => [key.slice(prefix.length), value]));
}

async function skipTo(source: ByteSource, end: number): Promise<void> {
  const left = end - source.position;
  if ((await source.skip(left)) < left) throw new TarError('it ends within an entry');
}

function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

function upToZero(data: Buffer, decodeName: DecodeName): string {
  const end = data.indexOf(0);
  return decodeName(end < 0 ? data : data.subarray(0, end));
}
