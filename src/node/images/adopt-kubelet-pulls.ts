import { dirname } from 'node:path';
import { type Logger } from '#base/log/logger.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { readIfThere, syncPath, writeWhole } from '#base/fs/whole-file.js';
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

const FORMAT = 1;

/**
 * Adopts what an ended kubelet knew about its pulls, each file once and again if a kubelet has rewritten it.
 * Never rejects.
 *
 * The kubelet's files stay as they are.
 */
export async function adoptKubeletPulls(given: KubeletPullsAdoption): Promise<void> {
  const { records, kubeletFolder, file, logger } = given;
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
    await makeFolder(dirname(file), 0o700);
    await syncPath(dirname(dirname(file)));
    const written = { format: FORMAT, read: Object.fromEntries(read) };
    await writeWhole(file, `${JSON.stringify(written)}\n`);
  } catch (error) {
    logger.error("Which of a kubelet's records were taken over cannot be kept, they are taken again", error, {
      path: file,
    });
  }
}

async function readTaken(file: string, logger: Logger): Promise<ReadonlyMap<string, string>> {
  try {
    const text = await readIfThere(file);
    if (text === undefined) return new Map();
    const { format, read } = (JSON.parse(text) ?? {}) as Readonly<Record<string, unknown>>;
    if (format !== FORMAT) throw new Error(`its format is ${JSON.stringify(format)}, and not ${FORMAT}`);
    if (typeof read !== 'object' || read === null) throw new Error('it names no files');
    return new Map(Object.entries(read as Readonly<Record<string, string>>));
  } catch (error) {
    const message = "Which of a kubelet's records were taken over cannot be read, they are taken again";
    logger.error(message, error, { path: file });
    return new Map();
  }
}
