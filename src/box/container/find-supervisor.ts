import { type Clock } from '#base/time/clock.js';
import { type ProcessClaim } from '../process/process-claim.js';
import { type ContainerFiles } from './container-files.js';

/** Who runs a container, and as which of its runs. */
export interface FoundSupervisor {
  /** The number of the run: that of the supervisor, else the first that nobody can have had. */
  readonly run: number;
  readonly supervisor: ProcessClaim | undefined;
}

const LOOKS = 200;
const LOOK_AGAIN_MS = 5;

/** Finds the supervisor of a container. When there is none, makes sure that none of an earlier runtime comes late. */
export async function findSupervisor(
  files: Pick<ContainerFiles, 'findSupervisor' | 'voidRun'>,
  clock: Clock,
): Promise<FoundSupervisor> {
  let run = 0;
  for (let patience = LOOKS; ;) {
    const found = await files.findSupervisor(run);
    if (found === 'void') run++;
    else if (found !== undefined) return { run, supervisor: found };
    else if ((await files.voidRun(run)) || patience-- === 0) return { run: run + 1, supervisor: undefined };
    // Somebody has just created the file and not yet filled it. If he dies over it, nothing was started.
    else await clock.sleep(LOOK_AGAIN_MS);
  }
}
