/**
 * Terminals without a native addon: util-linux's `script` makes the pseudo-terminal, copies between its own stdin and
 * stdout and the terminal, and ends with the command's exit code; `stty` sets the size from outside.
 *
 * What to know of it: the end of stdin is one Ctrl-D at the terminal, as `script` does it. Ctrl-C, Ctrl-Z and the
 * like are bytes of stdin; the terminal makes signals of them. The size is 0 by 0 until the first resize. The
 * terminal belongs to the devpts of whoever runs `script`.
 *
 * @module
 */
import { readdir, readFile } from 'node:fs/promises';
import { type Clock } from '#base/time/clock.js';
import { quoteWord, quoteWords } from '../isolation/script/shell-words.js';
import { type TerminalSize } from '../streaming/streaming-ports.js';
import { findTool } from './find-tools.js';
import { runHelper } from './helper-process.js';

/** What {@link wrapInPty} gives. */
export interface PtyCommand {
  /** To be spawned instead of the command; stdin and stdout are the terminal's other side. */
  readonly argv: readonly string[];
  /** What its environment must say. The command inherits it, unless it begins with `env -i`. */
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * The command line that runs a command at a terminal of its own.
 *
 * The command becomes one word of a command line, so it may be 128 KiB long in all (MAX_ARG_STRLEN).
 *
 * @param script path of util-linux's `script`.
 */
export function wrapInPty(argv: readonly string[], script: string): PtyCommand {
  const command = `exec ${quoteWords(argv)}`;
  return {
    argv: [script, '--quiet', '--return', '--flush', '--command', command, '/dev/null'],
    // It runs the command through this shell.
    environment: { SHELL: '/bin/sh' },
  };
}

/** Lines of a shell script that become the command, at a terminal of its own; see {@link wrapInPty}. */
export function renderPty(command: readonly string[], script: string): string {
  const { argv, environment } = wrapInPty(command, script);
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${quoteWord(value)}`);
  return `export ${variables.join(' ')}\nexec ${quoteWords(argv)}\n`;
}

/** What a {@link PtyResizer} needs. */
export interface PtyResizerOptions {
  readonly clock: Clock;
  /**
   * The process of `script`: undefined as soon as it may be gone, so that its number can never be somebody else's.
   */
  readonly findScript: () => number | undefined;
  /** Path of `stty` (default: searched for where tools are). */
  readonly stty?: string;
}

/** How long a `script` that has just started may take to open its terminal, on a machine that has no time for it. */
const OPEN_MS = 60_000;
/** It takes a few milliseconds as a rule; the longer it takes, the more rarely it is looked for. */
const LOOK_AGAIN_MS = 10;
const LOOK_AGAIN_MOST_MS = 250;
const STTY_MS = 30_000;

/**
 * Sets a terminal's size from outside. Sizes that come while one is being set are folded into the last one.
 *
 * One that comes before there is a terminal waits for it, as long as its `script` runs, for up to a minute; then it is
 * set with the next one.
 */
export class PtyResizer {
  readonly #options: PtyResizerOptions;
  #wanted: TerminalSize | undefined;
  #working: Promise<void> | undefined;

  constructor(options: PtyResizerOptions) {
    this.#options = options;
  }

  /** Resolves when the last size asked for is set, or the terminal is gone. Never rejects. */
  resize(size: TerminalSize): Promise<void> {
    this.#wanted = size;
    this.#working ??= this.#work();
    return this.#working;
  }

  async #work(): Promise<void> {
    const terminal = await this.#waitForTerminal();
    while (terminal !== undefined && this.#wanted !== undefined) {
      const { columns, rows } = this.#wanted;
      this.#wanted = undefined;
      // Look it up again: the number of a closed terminal is reused.
      if ((await this.#findTerminal()) !== terminal) break;
      const size = ['cols', String(columns), 'rows', String(rows)];
      await this.#runStty(['-F', terminal, ...size]).catch(() => undefined);
    }
    // Here and not when the promise settles: a size that came in between would be nobody's.
    this.#working = undefined;
  }

  async #runStty(args: readonly string[]): Promise<void> {
    const { stty = await findTool('stty'), clock } = this.#options;
    await runHelper({ argv: [stty, ...args], deadlineMs: STTY_MS, clock });
  }

  async #waitForTerminal(): Promise<string | undefined> {
    const { clock, findScript } = this.#options;
    const deadline = clock.monotonicMs() + OPEN_MS;
    for (
      let waitMs = LOOK_AGAIN_MS;
      findScript() !== undefined;
      waitMs = Math.min(2 * waitMs, LOOK_AGAIN_MOST_MS)
    ) {
      const terminal = await this.#findTerminal();
      if (terminal !== undefined || clock.monotonicMs() >= deadline) return terminal;
      await clock.sleep(waitMs);
    }
    return undefined;
  }

  /** The kernel names a terminal's number beside each file descriptor of its master. */
  async #findTerminal(): Promise<string | undefined> {
    const pid = this.#options.findScript();
    if (pid === undefined) return undefined;
    try {
      for (const fd of await readdir(`/proc/${pid}/fdinfo`)) {
        const facts = await readFile(`/proc/${pid}/fdinfo/${fd}`, 'latin1').catch(() => '');
        const index = /^tty-index:\s*(\d+)$/m.exec(facts)?.[1];
        if (index !== undefined && this.#options.findScript() === pid) return `/dev/pts/${index}`;
      }
    } catch {
      // It has just ended.
    }
    return undefined;
  }
}
