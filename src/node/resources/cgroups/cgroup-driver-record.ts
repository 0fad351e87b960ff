import { CGROUP_DRIVERS, type CgroupDriver } from '../../runtime/config/pod-cgroup-names.js';
import { type Logger } from '#base/log/logger.js';
import { RecordFile } from '#base/fs/record-file.js';

/** What {@link CgroupDriverRecord.open} needs. */
export interface CgroupDriverRecordOptions {
  readonly file: string;
  readonly logger: Logger;
}

interface KnownDriver {
  readonly runtime: string;
  readonly driver: CgroupDriver;
}

/**
 * The detected cgroup driver of a runtime, for a later agent whose runtime does not report it.
 *
 * It is valid only for a runtime of the same name.
 */
export class CgroupDriverRecord {
  readonly #logger: Logger;
  readonly #file: RecordFile<KnownDriver>;
  #known: KnownDriver | undefined;

  /**
   * Reads the record of an earlier agent; an invalid file is logged and counts as missing. Rejects when it
   * cannot be read.
   */
  static async open(options: CgroupDriverRecordOptions): Promise<CgroupDriverRecord> {
    const record = new CgroupDriverRecord(options);
    record.#known = await record.#file.read((error) => {
      options.logger.error('The persisted cgroup driver is not usable', error, { path: options.file });
      return undefined;
    });
    return record;
  }

  private constructor({ file: path, logger }: CgroupDriverRecordOptions) {
    this.#logger = logger;
    this.#file = new RecordFile({ path, parse });
  }

  /** The driver of a runtime, by the runtime's own name; undefined when unknown. */
  find(runtime: string): CgroupDriver | undefined {
    return this.#known?.runtime === runtime ? this.#known.driver : undefined;
  }

  /** Does not reject: a record that cannot be written is valid for this run. */
  async put(runtime: string, driver: CgroupDriver): Promise<void> {
    if (this.find(runtime) === driver) return;
    this.#known = { runtime, driver };
    try {
      await this.#file.write(this.#known);
    } catch (error) {
      this.#logger.error('The cgroup driver is not persisted', error, { path: this.#file.path });
    }
  }
}

function parse({ runtime, driver: name }: Readonly<Record<string, unknown>>): KnownDriver {
  const driver = CGROUP_DRIVERS.find((each) => each === name);
  if (typeof runtime !== 'string' || driver === undefined) throw new Error('it names no driver of a runtime');
  return { runtime, driver };
}
