import { status } from '@grpc/grpc-js';
import { type LinuxContainerResources } from '#watch/messages';
import { messageOf } from '#base/errors/errors.js';
import { toOomScoreAdj } from '../cgroups/oom-score.js';
import { findSizeFault } from './command-size.js';
import { type ContainerFiles } from './container-files.js';
import { type ContainerRecord } from './container-record.js';
import { type ContainerHost } from './container-host.js';
import { findImageFolders } from '../image-folders.js';
import { type ProcessIdentity } from '../process/child-identity.js';
import { type Sandbox } from '../pods/sandbox.js';
import { RpcError } from '../rpc-error.js';
import { type ContainerCommand } from './supervisor-script.js';

/** A container that is about to be started. */
export interface PreparedLaunch {
  readonly record: ContainerRecord;
  readonly files: ContainerFiles;
  readonly command: ContainerCommand;
  /** Those that hold now. */
  readonly resources: LinuxContainerResources | undefined;
  readonly sandbox: Sandbox;
  /** The entrypoint of another container of the sandbox; undefined unless it runs. */
  readonly findMain: (containerId: string) => ProcessIdentity | undefined;
}

/**
 * Writes what the container's supervisor is to run. Why it cannot be started; undefined when it can. Rejects where it
 * waited for its image's files when the signal aborted, or the runtime was ended: then it can be started later.
 */
export async function prepareLaunch(
  launch: PreparedLaunch,
  host: ContainerHost,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { record, files, command, resources, sandbox, findMain } = launch;
  const { isolation, images, cgroups } = host;
  const { id: containerId, imageId, sandboxId } = record;
  const tooLong = await findSizeFault(command);
  if (tooLong !== undefined) return `unable to start container process: ${tooLong}`;
  try {
    const root = await images.prepareRoot({ imageId, containerId, isolated: isolation.hasRoots, signal });
    const cgroup = cgroups.findContainer(sandboxId, containerId);
    await isolation.prepareStart({
      record,
      dir: files.dir,
      sandbox,
      command,
      root,
      imageFolders: await findImageFolders(images, record, signal),
      ...(cgroup.exists
        ? { joinFiles: cgroup.joinFiles, unifiedCgroups: cgroups.unifiedMountpoint }
        : { joinFiles: [], unifiedCgroups: undefined }),
      oomScoreAdj: toOomScoreAdj(resources),
      findMain,
    });
    return undefined;
  } catch (error) {
    const isEnding = error instanceof RpcError && error.code === status.UNAVAILABLE;
    if (isEnding || (signal.aborted && error === signal.reason)) throw error;
    return messageOf(error);
  }
}
