import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { PullRecords } from '../images/pull-records.js';
import { type Clock } from '../util/clock.js';
import { type Logger } from '../util/logger.js';
import { type AgentOptions } from './agent-options.js';

/** What {@link openPullRecords} needs. */
export interface OpenPullRecordsOptions {
  readonly options: Pick<AgentOptions, 'rootDir'>;
  readonly runtimeUrl: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Opens the records of pulled images of a root folder. Never rejects. */
export async function openPullRecords(given: OpenPullRecordsOptions): Promise<PullRecords> {
  const { options, runtimeUrl, clock, logger } = given;
  const folder = join(options.rootDir, 'image-pulls');
  return PullRecords.open({ clock, logger, folder, runtime: await toPlace(runtimeUrl) });
}

/** The same for a socket, by whichever links it is called. */
async function toPlace(runtimeUrl: string): Promise<string> {
  const socketPath = runtimeUrl.replace(/^unix:\/\//, '');
  return `unix://${await realpath(socketPath).catch(() => socketPath)}`;
}
