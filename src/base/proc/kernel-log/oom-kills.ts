import { type KernelRecord } from './kernel-records.js';

/** A process that the kernel killed for want of memory. */
export interface OomKill {
  /** When the kernel said so, in milliseconds after the start of the machine. */
  readonly atMs: number;
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
}

/** A name may have any sign; nothing behind it has brackets. */
const KILLED =
  /^(Memory cgroup out of memory|Out of memory)(?: \([^)]*\))?: Kill(?:ed)? process (\d+) \((.*)\)(?:,? |$)/;
const WHOLE_GROUP = /^Tasks in (.+) are going to be killed due to memory\.oom\.group set$/;
/** The kernel kills all of a cgroup at once: what it says later is about another kill. */
const MAX_PAUSE_MS = 1_000;

/**
 * Finds the processes that were killed for want of memory in the lines of the kernel's log:
 *
 * ```
 * oom-kill:constraint=…,oom_memcg=/a,task_memcg=/a/b,task=x,pid=7,uid=0     not with every kill, where there are many
 * Memory cgroup out of memory: Killed process 7 (x) …
 * Tasks in /a/b are going to be killed due to memory.oom.group set          if all of the cgroup goes
 * Memory cgroup out of memory: Killed process 8 (y) …                       one for each of the others
 * ```
 *
 * Of a cgroup that is killed whole only the first process is reported. Only the line behind a kill shows whether it is whole, so a kill
 * is returned with the next line that matters, or by {@link finish}.
 */
export class OomKillReader {
  #constraint: Constraint | undefined;
  #open: OomKill | undefined;
  /** A cgroup of which all processes are killed. */
  #whole: { group: string; atMs: number; isOfMachine: boolean | undefined } | undefined;

  /** The kill that ended before this line; undefined if there is none. */
  take({ text, atMs }: KernelRecord): OomKill | undefined {
    const constraint = readConstraint(text);
    if (constraint !== undefined) {
      this.#constraint = constraint;
      this.#whole = undefined;
      return this.finish();
    }
    const all = WHOLE_GROUP.exec(text)?.[1];
    if (all !== undefined) {
      const kill = this.finish();
      this.#whole = { group: all, atMs, isOfMachine: kill?.isOfMachine };
      return kill && { ...kill, group: kill.group ?? all, isWhole: true };
    }
    const [, words, id, command = ''] = KILLED.exec(text) ?? [];
    if (words === undefined) return undefined;
    const before = this.finish();
    const isOfMachine = words === 'Out of memory';
    const whole = this.#takeWhole(isOfMachine, atMs);
    if (whole === 'known') return before;
    const pid = Number(id);
    const { limitedGroup, group = whole } = this.#constraint?.pid === pid ? this.#constraint : {};
    this.#open = {
      ...{ atMs, pid, command, isOfMachine, isWhole: whole !== undefined },
      ...(limitedGroup === undefined ? {} : { limitedGroup }),
      ...(group === undefined ? {} : { group }),
    };
    return before;
  }

  /** The cgroup that is killed with a process, or `known` where that was reported with another of its processes. */
  #takeWhole(isOfMachine: boolean, atMs: number): string | undefined {
    const whole = this.#whole;
    if (whole === undefined || atMs - whole.atMs > MAX_PAUSE_MS) return undefined;
    // The line of the first process was lost.
    const isFirst = whole.isOfMachine === undefined;
    whole.isOfMachine ??= isOfMachine;
    if (whole.isOfMachine !== isOfMachine) return undefined;
    whole.atMs = atMs;
    return isFirst ? whole.group : 'known';
  }

  /** The last kill, when no more lines are to come. */
  finish(): OomKill | undefined {
    const kill = this.#open;
    this.#open = undefined;
    return kill;
  }
}

/**
 * The line before a kill: `oom-kill:constraint=CONSTRAINT_MEMCG,…,oom_memcg=/x,task_memcg=/x/y,task=name,pid=7,uid=0`. The name of the
 * task stands behind the groups and may look like one.
 */
function readConstraint(text: string): Constraint | undefined {
  if (!text.startsWith('oom-kill:constraint=')) return undefined;
  const pid = /,pid=(\d+),uid=\d+$/.exec(text)?.[1];
  if (pid === undefined) return undefined;
  const limitedGroup = /^oom-kill:constraint=CONSTRAINT_MEMCG,.*?,oom_memcg=([^,]*),/.exec(text)?.[1];
  const group = /,task_memcg=([^,]*),/.exec(text)?.[1];
  return {
    pid: Number(pid),
    ...(limitedGroup === undefined ? {} : { limitedGroup }),
    ...(group === undefined ? {} : { group }),
  };
}
