import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { adoptKubeletPulls } from '../images/adopt-kubelet-pulls.js';
import { PullRecords } from '../images/pull-records.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { parseSocketPath } from '#base/wire/private-socket.js';
import { type AgentOptions } from '../options/agent-options.js';

/** What {@link openPullRecords} needs. */
export interface OpenPullRecordsOptions {
  readonly options: Pick<AgentOptions, 'rootDir' | 'adopt'>;
  readonly runtimeUrl: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Opens the records of pulled images of a root folder. Never rejects.
 *
 * When pods are adopted, they include those of the kubelet that had this root folder.
 */
export async function openPullRecords(given: OpenPullRecordsOptions): Promise<PullRecords> {
  const { options, runtimeUrl, clock, logger } = given;
  const folder = join(options.rootDir, 'image-pulls');
  const records = await PullRecords.open({ clock, logger, folder, runtime: await toPlace(runtimeUrl) });
  if (options.adopt) {
    const kubeletFolder = join(options.rootDir, 'image_manager');
    await adoptKubeletPulls({ records, kubeletFolder, file: join(folder, 'kubelet.json'), logger });
  }
  return records;
}

/** Normalizes a socket path, by whichever links it is reached. */
async function toPlace(runtimeUrl: string): Promise<string> {
  const socketPath = parseSocketPath(runtimeUrl, 'runtime');
  return `unix://${await realpath(socketPath).catch(() => socketPath)}`;
}
