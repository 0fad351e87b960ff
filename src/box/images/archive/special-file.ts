import { messageOf } from '#base/errors/errors.js';
import { runTool } from '../run-tool.js';
import { type TarEntry } from '#base/wire/tar/tar-entry.js';

const LETTERS = { character: 'c', block: 'b', fifo: 'p' } as const;

/** What {@link makeSpecialFile} did. `left-out`: to overlayfs the device would mean that there is no such file. */
export type SpecialFileResult = 'made' | 'left-out' | 'forbidden';

/**
 * Makes a named pipe or a device through coreutils' mknod, since Node has no call for it. `forbidden` when it is a
 * device and this process has no right to make one.
 */
export async function makeSpecialFile(
  { kind, deviceMajor, deviceMinor }: TarEntry,
  path: string,
  privileged: boolean,
): Promise<SpecialFileResult> {
  if (kind !== 'fifo' && kind !== 'character' && kind !== 'block')
    throw new Error(`a ${kind} is no special file`);
  const isDevice = kind !== 'fifo';
  if (isDevice && !privileged) return 'forbidden';
  const numbers = isDevice ? [deviceMajor, deviceMinor] : [];
  if (numbers.some((number) => number < 0 || number > 0xf_ffff))
    throw new Error('its device numbers cannot be');
  if (kind === 'character' && deviceMajor === 0 && deviceMinor === 0) return 'left-out';
  const args = ['-m', '0600', '--', path, LETTERS[kind], ...numbers.map(String)];
  const failure = await runTool('mknod', args).then(
    () => undefined,
    (error: unknown) => messageOf(error),
  );
  if (failure === undefined) return 'made';
  if (isDevice && failure.includes('Operation not permitted')) return 'forbidden';
  throw new Error(failure);
}
