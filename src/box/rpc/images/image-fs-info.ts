import { join } from 'node:path';
import { type FilesystemUsage, type ImageFsInfoRequest, type ImageFsInfoResponse } from '#watch/messages';
import { addUsage, measureFolder, type FolderUsage } from '../../images/folder-usage.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI ImageFsInfo: what unpacked images take; and what containers have written, with their records and spools. */
export async function imageFsInfo(
  { images, rootDir, time }: RpcContext,
  _request: ImageFsInfoRequest,
): Promise<ImageFsInfoResponse> {
  const [used, spools] = await Promise.all([images.usage(), measureFolder(join(rootDir, 'containers'))]);
  const toMessage = ({ bytes, inodes }: FolderUsage): FilesystemUsage => ({
    timestamp: time.now(),
    fsId: { mountpoint: rootDir },
    usedBytes: { value: bytes },
    inodesUsed: { value: inodes },
  });
  return {
    imageFilesystems: [toMessage(used.images)],
    containerFilesystems: [toMessage(addUsage(used.containers, spools))],
  };
}
