import { StringDecoder } from 'node:string_decoder';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { type CliHost } from '../../cli-host.js';
import { type Suspension } from '../../suspension.js';
import { type Terminal } from '../../terminal.js';
import { isTerminalInput, makeRaw } from '../streaming/raw-terminal.js';
import { decodeKeys, type Key, wholeKeysLength } from './keys.js';
import { LiveScreen } from './live-screen.js';
import { type ScreenSize } from './screen-text.js';

/** What a {@link ScreenControl} needs. */
export interface ScreenControlOptions {
  readonly host: Pick<CliHost, 'stdin' | 'clock' | 'handleSuspension'>;
  readonly terminal: Terminal;
  /** The rows that there are to show, as of now: no more than fit, and none longer. */
  readonly render: (size: ScreenSize) => readonly string[];
  readonly onKey: (key: Key) => void;
  /** Nobody types any more: the terminal has gone. */
  readonly onEnd: () => void;
  /** Whether keys are read, if standard input is a terminal (default: true). */
  readonly readsKeys?: boolean;
}

/** How long the rest of a key's sequence may take; then Esc was pressed. */
const SEQUENCE_MS = 50;

/**
 * A terminal with a screen and a keyboard. Both are restored together: when the process is stopped, while another
 * program uses the terminal, and at the end.
 */
export class ScreenControl implements Disposable {
  readonly #options: ScreenControlOptions;
  readonly #clock: Clock;
  readonly #hasKeyboard: boolean;
  readonly #suspension: Suspension | undefined;
  readonly #screen: LiveScreen;
  #keyboard: Disposable | undefined;
  #isLent = false;
  #isClosed = false;

  constructor(options: ScreenControlOptions) {
    this.#options = options;
    const { host, terminal, render, readsKeys = true } = options;
    this.#clock = host.clock;
    this.#hasKeyboard = readsKeys && isTerminalInput(host.stdin);
    this.#takeKeyboard();
    this.#suspension = host.handleSuspension?.({
      leave: () => {
        if (this.#isLent) return;
        this.#releaseKeyboard();
        this.#screen.suspend();
      },
      enter: () => {
        if (this.#isLent || this.#isClosed) return;
        this.#takeKeyboard();
        this.#screen.resume();
      },
    });
    this.#screen = new LiveScreen({ terminal, clock: this.#clock, render });
  }

  /** Draws what there is now, if it differs from what is there. */
  draw(): void {
    this.#screen.draw();
  }

  /** Draws all of it again. */
  redraw(): void {
    this.#screen.redraw();
  }

  /** Stops the process, as Ctrl-Z does. */
  suspend(): void {
    this.#suspension?.suspend();
  }

  /** Gives screen and keyboard to `work`, and takes both again when it has ended, whatever its end. */
  async lend<T>(work: () => Promise<T>): Promise<T> {
    this.#isLent = true;
    this.#releaseKeyboard();
    this.#screen.suspend();
    try {
      return await work();
    } finally {
      this.#isLent = false;
      if (!this.#isClosed) {
        this.#takeKeyboard();
        this.#screen.resume();
      }
    }
  }

  /** Gives the terminal back. Idempotent. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#suspension?.[Symbol.dispose]();
    this.#releaseKeyboard();
    this.#screen.close();
  }

  #takeKeyboard(): void {
    if (!this.#hasKeyboard || this.#keyboard !== undefined) return;
    const { host, onKey, onEnd } = this.#options;
    const { stdin } = host;
    const restore = makeRaw(stdin);
    const decoder = new StringDecoder('utf8');
    let pending = '';
    let timer: ClockTimer | undefined;
    const take = (length: number): void => {
      const text = pending.slice(0, length);
      pending = pending.slice(length);
      for (const key of decodeKeys(text)) onKey(key);
    };
    const onData = (chunk: Buffer): void => {
      timer?.cancel();
      pending += decoder.write(chunk);
      take(wholeKeysLength(pending));
      if (pending !== '')
        timer = this.#clock.setTimer(SEQUENCE_MS, () => take(pending.length), { unref: true });
    };
    stdin.on('data', onData);
    stdin.once('end', onEnd);
    stdin.once('error', onEnd);
    stdin.resume();
    this.#keyboard = {
      [Symbol.dispose]: () => {
        timer?.cancel();
        stdin.off('data', onData);
        stdin.off('end', onEnd);
        stdin.off('error', onEnd);
        stdin.pause();
        restore();
      },
    };
  }

  #releaseKeyboard(): void {
    this.#keyboard?.[Symbol.dispose]();
    this.#keyboard = undefined;
  }
}
