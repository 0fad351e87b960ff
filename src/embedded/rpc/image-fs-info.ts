import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type FilesystemUsage,
  type ImageFsInfoRequest,
  type ImageFsInfoResponse,
} from '../../cri/generated/runtime/v1/cri.js';
import { type RpcContext } from './rpc-context.js';

/** CRI ImageFsInfo: images take no space; containers take what their folders hold, spools included. */
export async function imageFsInfo(
  { rootDir, time }: RpcContext,
  _request: ImageFsInfoRequest,
): Promise<ImageFsInfoResponse> {
  const { bytes, inodes } = await measure(join(rootDir, 'containers'));
  const usage = (usedBytes: bigint, inodesUsed: bigint): FilesystemUsage => ({
    timestamp: time.now(),
    fsId: { mountpoint: rootDir },
    usedBytes: { value: usedBytes },
    inodesUsed: { value: inodesUsed },
  });
  return { imageFilesystems: [usage(0n, 0n)], containerFilesystems: [usage(bytes, inodes)] };
}

async function measure(folder: string): Promise<{ bytes: bigint; inodes: bigint }> {
  let bytes = 0n;
  let inodes = 0n;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    // Containers come and go meanwhile.
    const facts = await lstat(join(entry.parentPath, entry.name), { bigint: true }).catch(() => undefined);
    if (facts === undefined) continue;
    bytes += facts.blocks * 512n;
    inodes++;
  }
  return { bytes, inodes };
}
