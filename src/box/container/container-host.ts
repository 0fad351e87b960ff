import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type Cgroups } from '../cgroups/cgroups.js';
import { type ImageStore } from '../images/image-store.js';
import { type Isolation } from '../isolation/isolation.js';
import { type NanoClock } from '../nano-clock.js';
import { type ProcessTable } from '../process/process-table.js';

/** What all containers of a runtime share. */
export interface ContainerHost {
  readonly clock: Clock;
  readonly time: NanoClock;
  readonly logger: Logger;
  readonly processes: ProcessTable;
  readonly isolation: Isolation;
  readonly cgroups: Cgroups;
  readonly images: ImageStore;
  readonly bootId: string;
  /** Path of the supervisor's script, and the folders in which its programs are. */
  readonly script: string;
  readonly path: string;
}
