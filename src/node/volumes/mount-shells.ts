import { linkAbort } from '#base/async/linked-abort.js';
import { ChosenLine } from '#base/async/slot-line.js';
import { type ReleaseSlot, Slots } from '#base/async/slots.js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { MountShell, NoShellError } from './mount-shell.js';
import { MOUNT_LIMIT_MS, type MountTool, runMountTool } from './mount-tool.js';

/** What {@link MountShells} need. */
export interface MountShellsOptions {
  readonly clock: Clock;
  /** Limit for one tool, and for its wait in addition, in milliseconds (default: a minute). */
  readonly limitMs?: number;
  /** An idle shell ends after this time, in milliseconds (default: 10 s). */
  readonly idleMs?: number;
  /** Maximum of waiting tools (default: 1,000). */
  readonly mostWaiting?: number;
  /** A process that ends when its input closes (default: `sh`). */
  readonly shell?: string;
}

/** The counters of {@link MountShells}. */
export interface MountShellsCounts {
  /** Running tools, and killed ones that have not ended yet. */
  readonly running: number;
  /** Tools that have not started. */
  readonly waiting: number;
  /** Idle shells. */
  readonly idle: number;
  /** Since the start: refused because too many waited. */
  readonly refused: number;
  /** Since the start: given up because their turn did not come in time. */
  readonly expired: number;
}

interface Job {
  readonly tool: MountTool;
  readonly args: readonly string[];
  readonly place: string;
}

/** Maximum of tools at a time. */
const MAX_AT_ONCE = 4;
/** Unmounting a large file system in memory takes seconds: this leaves room for a mount. */
const MAX_UNMOUNTS_AT_ONCE = MAX_AT_ONCE - 1;
/** Pods come and go together: an idle shell is not worth keeping in between. */
const IDLE_MS = 10_000;
const MAX_WAITING = 1_000;

/**
 * Runs mount(8) and umount(8) in a few shells that are started once.
 *
 * To start a program, the kernel copies the page tables of the parent, and Node stands still meanwhile:
 * milliseconds of CPU per mount in an agent of usual size, next to nothing in a shell. Another shell starts
 * only while all present ones are busy.
 *
 * At one place (the last word of a tool) the tools run in the order of the calls, each after the end of the
 * one before, even if that was killed. Otherwise each waits only for its turn. Use it only for mounts that
 * wait for nobody, such as file systems in memory: tools that hang and fill all slots block all others, which
 * are then refused in time.
 */
export class MountShells implements AsyncDisposable {
  readonly #options: Required<MountShellsOptions>;
  readonly #slots = new Slots<Job>({ limit: MAX_AT_ONCE, line: new ChosenLine(findNext) });
  /** Ends the waits of tools that have not begun. */
  readonly #closing = new AbortController();
  /** The last one has worked last: with little to do, the others end. */
  readonly #idle: MountShell[] = [];
  readonly #timers = new Map<MountShell, ClockTimer>();
  readonly #shells = new Set<MountShell>();
  /** Running work, until it has ended. Never rejects. */
  readonly #work = new Set<Promise<void>>();
  #refused = 0;
  #expired = 0;

  constructor(options: MountShellsOptions) {
    this.#options = {
      ...{ limitMs: MOUNT_LIMIT_MS, idleMs: IDLE_MS, mostWaiting: MAX_WAITING, shell: 'sh' },
      ...options,
    };
  }

  get counts(): MountShellsCounts {
    const { inside: running, waiting } = this.#slots.facts;
    return {
      ...{ running, waiting, idle: this.#idle.length },
      ...{ refused: this.#refused, expired: this.#expired },
    };
  }

  /**
   * Like {@link runMountTool}; the last word is the place. The signal only ends the wait for the turn.
   *
   * Rejects with the signal's reason. Also rejects, naming what hangs, when too many wait already or the turn
   * does not come in time.
   */
  async run(tool: MountTool, args: readonly string[], signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const job: Job = { tool, args, place: args.at(-1) ?? '' };
    const release = await this.#takeTurn(job, signal);
    if (this.#isClosed) {
      release();
      throw endingError(tool);
    }
    await new Promise<void>((resolve, reject) => {
      const work = this.#runOne(job, resolve, reject).finally(() => {
        this.#work.delete(work);
        release();
      });
      this.#work.add(work);
    });
  }

  /** Refuses waiting tools, lets running ones end, and resolves when no shell is left. Idempotent. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    for (const shell of [...this.#idle]) this.#dismiss(shell);
    await Promise.all(this.#work);
    await Promise.all([...this.#shells].map(async ({ ended }) => ended));
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  async #takeTurn(job: Job, signal: AbortSignal | undefined): Promise<ReleaseSlot> {
    const { tool } = job;
    if (this.#isClosed) throw endingError(tool);
    const { clock, limitMs, mostWaiting } = this.#options;
    const wait = linkAbort(signal);
    const close = (): void => wait.abort(endingError(tool));
    this.#closing.signal.addEventListener('abort', close, { once: true });
    const timer = clock.setTimer(limitMs, () => {
      this.#expired++;
      const late = `its turn did not come for ${limitMs / 1_000} s`;
      wait.abort(new Error(`${tool} was not begun: ${late}, ${this.#blame()}`));
    });
    try {
      const turn = this.#slots.take(job, wait.signal);
      // Only one that waits can be too many.
      if (this.#slots.facts.waiting > mostWaiting) {
        this.#refused++;
        wait.abort(new Error(`${tool} was not begun: ${mostWaiting} others wait already, ${this.#blame()}`));
      }
      return await turn;
    } finally {
      timer.cancel();
      wait.unlink();
      this.#closing.signal.removeEventListener('abort', close);
    }
  }

  /** Until the tool has ended, which may be after its answer. Never rejects. */
  async #runOne({ tool, args }: Job, resolve: () => void, reject: (reason: unknown) => void): Promise<void> {
    const shell = this.#takeShell();
    const work = shell === undefined ? runMountTool(tool, args) : runIn(shell, tool, args);
    await work.then(resolve, reject);
    if (shell === undefined) return;
    if (shell.isUsable && !this.#isClosed) this.#rest(shell);
    else {
      shell.end();
      await shell.ended;
    }
  }

  #takeShell(): MountShell | undefined {
    const idle = this.#idle.pop();
    if (idle !== undefined) {
      this.#timers.get(idle)?.cancel();
      this.#timers.delete(idle);
      return idle;
    }
    const shell = MountShell.start(this.#options);
    if (shell === undefined) return undefined;
    this.#shells.add(shell);
    void shell.ended.then(() => {
      this.#dismiss(shell);
      this.#shells.delete(shell);
    });
    return shell;
  }

  #rest(shell: MountShell): void {
    const { clock, idleMs } = this.#options;
    this.#idle.push(shell);
    this.#timers.set(
      shell,
      clock.setTimer(idleMs, () => this.#dismiss(shell), { unref: true }),
    );
  }

  /** It gets no more work. */
  #dismiss(shell: MountShell): void {
    this.#timers.get(shell)?.cancel();
    this.#timers.delete(shell);
    const at = this.#idle.indexOf(shell);
    if (at !== -1) this.#idle.splice(at, 1);
    shell.end();
  }

  /** What people should check. */
  #blame(): string {
    const tools = this.#slots.insideKeys.map(({ tool, place }) => `${tool} ${place}`).join(', ');
    return `held up by ${tools}; it is tried again. If these do not end, find out why`;
  }
}

/** First come, first served, but a few unmounts at most, and at each place one at a time. */
function findNext(waiting: Iterable<Job>, running: Iterable<Job>): number | undefined {
  // No overtaking at one place, not even if the one before only waits for its turn.
  const taken = new Set<string>();
  let unmounts = 0;
  for (const { place, tool } of running) {
    taken.add(place);
    if (tool === 'umount') unmounts++;
  }
  for (const [index, { place, tool }] of [...waiting].entries()) {
    const hasRoom = tool !== 'umount' || unmounts < MAX_UNMOUNTS_AT_ONCE;
    if (hasRoom && !taken.has(place)) return index;
    taken.add(place);
  }
  return undefined;
}

function endingError(tool: MountTool): Error {
  return new Error(`${tool} was not begun: podloop is ending`);
}

/** Without a shell, runs the tool directly. */
async function runIn(shell: MountShell, tool: MountTool, args: readonly string[]): Promise<void> {
  try {
    await shell.run(tool, args);
  } catch (error) {
    if (!(error instanceof NoShellError)) throw error;
    await runMountTool(tool, args);
  }
}
