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
 * The detected cgroup driver of a runtime, for a later agent whose runtime does not report it.
 *
 * It is valid only for a runtime of the same name.
 */
export class CgroupDriverRecord {
  readonly #options: CgroupDriverRecordOptions;
  #known: { readonly runtime: string; readonly driver: CgroupDriver } | undefined;

  /**
   * Reads the record of an earlier agent; an invalid file counts as missing. Rejects when it cannot be read.
   */
  static async open(options: CgroupDriverRecordOptions): Promise<CgroupDriverRecord> {
    const record = new CgroupDriverRecord(options);
    const text = await readIfThere(options.file);
    record.#known = text === undefined ? undefined : parse(text);
    return record;
  }

  private constructor(options: CgroupDriverRecordOptions) {
    this.#options = options;
  }

  /** The driver of a runtime, by the runtime's own name; undefined when unknown. */
  find(runtime: string): CgroupDriver | undefined {
    return this.#known?.runtime === runtime ? this.#known.driver : undefined;
  }

  /** Does not reject: a record that cannot be written is valid for this run. */
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
