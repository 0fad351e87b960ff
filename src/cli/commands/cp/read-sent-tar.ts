import { StreamSource } from '#base/wire/tar/byte-source.js';
import { type TarEntry } from '#base/wire/tar/tar-entry.js';
import { readTar } from '#base/wire/tar/tar-reader.js';

/**
 * The entries of a tar that a container sends, up to the end of the stream.
 *
 * Names that are not UTF-8 are changed: one file with an odd name must not keep the others from being copied.
 */
export async function* readSentTar(chunks: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  const source = new StreamSource(chunks);
  yield* readTar(source, (bytes) => bytes.toString('utf8'));
  // Whoever sends it would wait for ever.
  await source.skip(Infinity);
}
