import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { closeOnFailure } from '#base/async/close-on-failure.js';
import { refused } from '../../rpc-error.js';
import { FileSource } from '#base/wire/tar/byte-source.js';
import { DigestCheck } from './digest.js';
import { MAX_DOCUMENT_BYTES, type Descriptor } from './oci-documents.js';

/** Bytes that lie in one piece in a file. */
export interface FileRegion {
  readonly path: string;
  readonly start: number;
  readonly size: number;
}

/** Opens a file for reading; throws for anything else, without waiting for the other end of a pipe. */
export async function openFile(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return closeOnFailure(file, async () => {
    if ((await file.stat()).isFile()) return file;
    throw refused(`${path} is not a file`);
  });
}

/** The bytes of a region, read as they are asked for; fewer where the file has become shorter. */
export async function* readRegion({ path, start, size }: FileRegion): AsyncGenerator<Buffer> {
  await using file = await openFile(path);
  yield* new FileSource(file, start, start + size).pieces(size);
}

/** The text of a region. Throws UNKNOWN where no document is that large. */
export async function readText(region: FileRegion): Promise<string> {
  if (region.size > MAX_DOCUMENT_BYTES)
    throw refused(
      `${region.path} holds a document of ${region.size} bytes; ${MAX_DOCUMENT_BYTES} are allowed`,
    );
  const chunks: Buffer[] = [];
  for await (const chunk of readRegion(region)) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Throws FAILED_PRECONDITION unless a document is the one that its descriptor means. */
export function checkDocument(
  text: string,
  { digest, size }: Pick<Descriptor, 'digest' | 'size'>,
  what: string,
): void {
  const check = new DigestCheck(`${what} ${digest}`, digest, size);
  check.add(Buffer.from(text));
  check.assert();
}
