import { type Clock } from '#base/time/clock.js';
import { type ScreenSize } from './screen-text.js';
import { type Terminal } from '../../terminal.js';

/** What a {@link LiveScreen} needs. */
export interface LiveScreenOptions {
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** The rows that there are to show, as of now: no more than fit, and none longer. */
  readonly render: (size: ScreenSize) => readonly string[];
}

/** How often the screen checks for news, in milliseconds. */
const LOOK_MS = 200;

/** The other screen of the terminal, without a cursor and without line breaks of its own; the top left corner. */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J';
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l';
const TO_TOP = '\x1b[H';
const CLEAR_ROW = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';

/**
 * One screen that is drawn again in place whenever something on it changes.
 *
 * It takes the terminal's other screen, so that what stood there before is there again afterwards, and gives it back
 * with the cursor when it is closed, or when the process ends without closing it.
 */
export class LiveScreen implements Disposable {
  readonly #options: LiveScreenOptions;
  readonly #drawing = new AbortController();
  readonly #forget: readonly (() => void)[];
  #drawn = '';
  #closed = false;
  #suspended = false;

  constructor(options: LiveScreenOptions) {
    this.#options = options;
    const { terminal } = options;
    const onExit = terminal.onExit(() => this.close());
    const onResize = terminal.onResize(() => this.draw());
    this.#forget = [onExit, onResize];
    terminal.write(ENTER);
    this.draw();
    void this.#drawAgain();
  }

  /** Draws what there is now, if it differs from what is there. */
  draw(): void {
    if (this.#closed || this.#suspended) return;
    const { terminal, render } = this.#options;
    const { columns, rows } = terminal;
    const lines = render({ columns, rows });
    const text = lines.map((line) => line + CLEAR_ROW).join('\r\n');
    const frame = `${columns}x${rows}\n${text}`;
    if (frame === this.#drawn) return;
    this.#drawn = frame;
    // Below the last row there is nothing to clear, and a terminal may take it for that row.
    terminal.write(TO_TOP + text + (lines.length < rows ? `\r\n${CLEAR_BELOW}` : ''));
  }

  /** Redraws everything, for example after another program has written to the terminal. */
  redraw(): void {
    this.#drawn = '';
    this.draw();
  }

  /** Gives the terminal back for a while. Idempotent. */
  suspend(): void {
    if (this.#closed || this.#suspended) return;
    this.#suspended = true;
    this.#options.terminal.write(LEAVE);
  }

  /** Takes the terminal again. Idempotent. */
  resume(): void {
    if (this.#closed || !this.#suspended) return;
    this.#suspended = false;
    this.#options.terminal.write(ENTER);
    this.redraw();
  }

  /** Gives the terminal back as it was. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#drawing.abort();
    for (const forget of this.#forget) forget();
    if (!this.#suspended) this.#options.terminal.write(LEAVE);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #drawAgain(): Promise<void> {
    const { signal } = this.#drawing;
    while (!signal.aborted) {
      await this.#options.clock.sleep(LOOK_MS, signal).catch(() => undefined);
      this.draw();
    }
  }
}
