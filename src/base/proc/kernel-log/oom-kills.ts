/** A process that the kernel killed for want of memory. */
export interface OomKill {
  readonly pid: number;
  /** Its name, of at most 15 characters. */
  readonly command: string;
  /** The cgroup whose limit was reached; undefined where the machine had none left, or an old kernel does not say. */
  readonly limitedGroup?: string;
  /** The cgroup of the process. */
  readonly group?: string;
  /** Whether the kernel was out of memory as a whole, and not a cgroup at its limit. */
  readonly isOfMachine: boolean;
  /** Whether all of the cgroup is killed with it: `memory.oom.group`. */
  readonly isWhole: boolean;
}

interface Constraint {
  readonly pid: number;
  readonly limitedGroup?: string;
  readonly group?: string;
  isWhole: boolean;
}

const KILLED =
  /^(Memory cgroup out of memory|Out of memory)(?: \([^)]*\))?: Kill(?:ed)? process (\d+) \((.*?)\)(?:,? |$)/;
const WHOLE_GROUP = /^Tasks in \S+ are going to be killed due to memory\.oom\.group set$/;

/**
 * Finds the processes that were killed for want of memory in the lines of the kernel's log, which says in several lines whom it kills
 * and why. Of a cgroup that is killed whole only the first process is reported. Keeps one kill in mind.
 */
export class OomKillReader {
  #last: Constraint | undefined;

  /** The kill that ends with this line; undefined for any other line. */
  take(text: string): OomKill | undefined {
    const constraint = readConstraint(text);
    if (constraint !== undefined) {
      this.#last = constraint;
      return undefined;
    }
    const last = this.#last;
    if (WHOLE_GROUP.test(text)) {
      if (last !== undefined) last.isWhole = true;
      return undefined;
    }
    const [, words, id, command = ''] = KILLED.exec(text) ?? [];
    if (words === undefined) return undefined;
    const pid = Number(id);
    if (last !== undefined && last.pid !== pid && last.isWhole) return undefined;
    const known = last?.pid === pid ? last : undefined;
    return {
      ...{ pid, command, isWhole: known?.isWhole ?? false, isOfMachine: words === 'Out of memory' },
      ...(known?.limitedGroup === undefined ? {} : { limitedGroup: known.limitedGroup }),
      ...(known?.group === undefined ? {} : { group: known.group }),
    };
  }
}

/** The line before a kill: `oom-kill:constraint=CONSTRAINT_MEMCG,…,oom_memcg=/x,task_memcg=/x/y,task=name,pid=7,uid=0`. */
function readConstraint(text: string): Constraint | undefined {
  if (!text.startsWith('oom-kill:constraint=')) return undefined;
  const pid = /,pid=(\d+),uid=\d+$/.exec(text)?.[1];
  if (pid === undefined) return undefined;
  const limitedGroup = /^oom-kill:constraint=CONSTRAINT_MEMCG,.*,oom_memcg=([^,]*),/.exec(text)?.[1];
  const group = /,task_memcg=([^,]*),/.exec(text)?.[1];
  return {
    ...{ pid: Number(pid), isWhole: false },
    ...(limitedGroup === undefined ? {} : { limitedGroup }),
    ...(group === undefined ? {} : { group }),
  };
}
