import { constants } from 'node:fs';
import { open, type FileHandle, unlink } from 'node:fs/promises';
import { closeOnFailure } from '#base/async/close-on-failure.js';
import { systemCodeOf } from '#base/errors/system-code.js';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;

/**
 * Gives a file that containers have mounted this text and mode. Writes nothing if it has them already.
 *
 * It rewrites the same file, as running containers would keep an old one that is replaced. A path that is no
 * plain file, or has another hard link, comes from somebody who must not choose what is written to: it is
 * removed, and a new file created.
 */
export async function writeInPlace(path: string, text: string, mode: number): Promise<void> {
  const file = (await openOwn(path)) ?? (await open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600));
  try {
    const wanted = Buffer.from(text);
    if (!(await says(file, wanted))) {
      await file.truncate(0);
      await file.write(wanted, 0, wanted.length, 0);
    }
    // Not through open, as the umask would remove bits.
    await file.chmod(mode);
  } finally {
    await file.close();
  }
}

/** The file if it is a safe one; undefined when there is none any more. */
async function openOwn(path: string): Promise<FileHandle | undefined> {
  const file = await open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => error);
  if (file instanceof Error) {
    const code = systemCodeOf(file);
    if (code === 'ENOENT') return undefined;
    // A link, a FIFO, a socket or a device.
    if (code !== 'ELOOP' && code !== 'ENXIO') throw file;
  } else {
    const own = file as FileHandle;
    const facts = await closeOnFailure(own, () => own.stat());
    if (facts.isFile() && facts.nlink === 1) return own;
    await own.close();
  }
  await unlink(path);
  return undefined;
}

async function says(file: FileHandle, wanted: Buffer): Promise<boolean> {
  const { size } = await file.stat();
  if (size !== wanted.length) return false;
  const found = Buffer.alloc(size);
  await file.read(found, 0, size, 0);
  return found.equals(wanted);
}
