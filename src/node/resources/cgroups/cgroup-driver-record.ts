import { CGROUP_DRIVERS, type CgroupDriver } from '../../runtime/config/pod-cgroup-names.js';
import { isRecord } from '#base/text/is-record.js';
import { type Logger } from '#base/log/logger.js';
import { readIfThere, writeIfOther } from '#base/fs/whole-file.js';

/** What {@link CgroupDriverRecord.open} needs. */
export interface CgroupDriverRecordOptions {
  readonly file: string;
  readonly logger: Logger;
}

/**
 * The cgroup driver that a runtime was found to have, for a later agent that finds the runtime silent. It counts for a
 * runtime of the same name alone.
 */
export class CgroupDriverRecord {
  readonly #options: CgroupDriverRecordOptions;
  #known: { readonly runtime: string; readonly driver: CgroupDriver } | undefined;

  /** Reads what an earlier agent has left; a file that makes no sense counts as none. Rejects when it cannot be read. */
  static async open(options: CgroupDriverRecordOptions): Promise<CgroupDriverRecord> {
    const record = new CgroupDriverRecord(options);
    const text = await readIfThere(options.file);
    record.#known = text === undefined ? undefined : parse(text);
    return record;
  }

  private constructor(options: CgroupDriverRecordOptions) {
    this.#options = options;
  }

  /** That of a runtime, by the name that it calls itself; undefined when it is not known. */
  find(runtime: string): CgroupDriver | undefined {
    return this.#known?.runtime === runtime ? this.#known.driver : undefined;
  }

  /** Does not reject: what cannot be written holds for this run. */
  async put(runtime: string, driver: CgroupDriver): Promise<void> {
    const { file, logger } = this.#options;
    if (this.find(runtime) === driver) return;
    this.#known = { runtime, driver };
    try {
      await writeIfOther(file, `${JSON.stringify(this.#known)}\n`);
    } catch (error) {
      logger.error('The cgroup driver is not persisted', error, { path: file });
    }
  }
}

function parse(text: string): { readonly runtime: string; readonly driver: CgroupDriver } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isRecord(value) || typeof value['runtime'] !== 'string') return undefined;
    const driver = CGROUP_DRIVERS.find((each) => each === value['driver']);
    return driver && { runtime: value['runtime'], driver };
  } catch {
    return undefined;
  }
}
