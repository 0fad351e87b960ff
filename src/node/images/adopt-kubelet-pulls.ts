import { dirname } from 'node:path';
import { type Logger } from '#base/log/logger.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { RecordFile } from '#base/fs/record-file.js';
import { isRecord } from '#base/text/is-record.js';
import { syncPath } from '#base/fs/whole-file.js';
import { readKubeletPulls } from './kubelet-pulls.js';
import { type PullRecords } from './pull-records.js';

/** What {@link adoptKubeletPulls} needs. */
export interface KubeletPullsAdoption {
  readonly records: Pick<PullRecords, 'takeOver'>;
  /** `image_manager` in the kubelet's root folder. */
  readonly kubeletFolder: string;
  /**
   * Records which of its files were adopted, by content: images that are gone must not come back with the
   * next start.
   */
  readonly file: string;
  readonly logger: Logger;
}

/**
 * Adopts what an ended kubelet knew about its pulls, each file once and again if a kubelet has rewritten it.
 * Never rejects.
 *
 * The kubelet's files stay as they are.
 */
export async function adoptKubeletPulls(given: KubeletPullsAdoption): Promise<void> {
  const { records, kubeletFolder, file: path, logger } = given;
  const file = new RecordFile<ReadonlyMap<string, string>>({
    ...{ path, parse, format: (read) => ({ read: Object.fromEntries(read) }) },
  });
  const taken = await readTaken(file, logger);
  const pulls = await readKubeletPulls(kubeletFolder, taken, logger);
  const isKept = await records.takeOver(pulls);
  const { pulled, begun, read } = pulls;
  if (pulled.size + begun.length > 0) {
    logger.info("A kubelet's records of pulled images are taken over", {
      pulled: pulled.size,
      begun: begun.length,
    });
  }
  const isSame = read.size === taken.size && [...read].every(([name, hash]) => taken.get(name) === hash);
  if (!isKept || isSame) return;
  try {
    await makeFolder(dirname(path), 0o700);
    await syncPath(dirname(dirname(path)));
    await file.write(read);
  } catch (error) {
    logger.error(
      "The list of a kubelet's records that were taken over cannot be written, they are taken over again",
      error,
      {
        path,
      },
    );
  }
}

async function readTaken(
  file: RecordFile<ReadonlyMap<string, string>>,
  logger: Logger,
): Promise<ReadonlyMap<string, string>> {
  try {
    return (await file.read()) ?? new Map();
  } catch (error) {
    const message = "Which of a kubelet's records were taken over cannot be read, they are taken again";
    logger.error(message, error, { path: file.path });
    return new Map();
  }
}

function parse({ read }: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  if (!isRecord(read)) throw new Error('it names no files');
  return new Map(Object.entries(read as Readonly<Record<string, string>>));
}
