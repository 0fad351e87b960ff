import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import xterm from '@xterm/headless';
import {
  type PictureColour,
  type PictureLine,
  type PictureMark,
} from '#support/pictures/terminal-picture.js';
import { type ProcessEnd } from './podloop-process.js';
import { patiently } from '#support/patience.js';

/** Long enough for a loaded machine: what is not there by then does not come. */
const LIMIT_MS = patiently(45_000);

/** How many characters and rows a terminal has. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** A command at a terminal of its own, through util-linux's script(1), and everything it has written there. */
export class ProgramAtTerminal implements AsyncDisposable {
  readonly ended: Promise<ProcessEnd>;
  readonly #child: ChildProcess;
  readonly #onText = new Set<() => void>();
  /** What a person sees, drawn as terminals do it. */
  readonly #emulator: xterm.Terminal;
  #text = '';

  /** The command is a line for a shell. */
  constructor(
    command: string,
    env: Readonly<Record<string, string>>,
    { columns, rows }: TerminalSize = { columns: 80, rows: 24 },
  ) {
    this.#emulator = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
    this.#child = spawn(
      'script',
      ['-qec', `stty cols ${columns} rows ${rows}; exec ${command}`, '/dev/null'],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
        env: { PATH: process.env['PATH'], SHELL: '/bin/sh', ...env },
      },
    );
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.#text += text;
      this.#emulator.write(text, () => {
        for (const look of this.#onText) look();
      });
    });
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('close', (code, signal) => resolve({ code, signal }));
      this.#child.once('error', reject);
    });
  }

  get text(): string {
    return this.#text;
  }

  /** What its keyboard would send. */
  press(keys: string): void {
    this.#child.stdin!.write(keys);
  }

  /** The rows that a person sees now, without the spaces at their ends. */
  get screen(): string[] {
    const { active } = this.#emulator.buffer;
    return Array.from({ length: this.#emulator.rows }, (_, row) => {
      return (
        active
          .getLine(active.viewportY + row)
          ?.translateToString(true)
          .trimEnd() ?? ''
      );
    });
  }

  /** The same with what stands out in them, for a picture: colours, bold and inverse letters. */
  get picture(): PictureLine[] {
    const { active } = this.#emulator.buffer;
    const rows = Array.from({ length: this.#emulator.rows }, (_, row) =>
      active.getLine(active.viewportY + row),
    );
    return rows.map((row) => ({
      text: row?.translateToString(false) ?? '',
      marks: row === undefined ? [] : marksOf(row, this.#emulator.cols),
    }));
  }

  /** Whether what is seen is the other screen, which is gone at the end with all that is on it. */
  get isOnOtherScreen(): boolean {
    return this.#emulator.buffer.active.type === 'alternate';
  }

  /** Gives the terminal another size, of which its programs hear. */
  resize({ columns, rows }: TerminalSize): void {
    const [program = ''] = readFileSync(
      `/proc/${this.#child.pid}/task/${this.#child.pid}/children`,
      'utf8',
    ).split(' ');
    const terminal = readlinkSync(`/proc/${program}/fd/0`);
    this.#emulator.resize(columns, rows);
    spawnSync('stty', ['-F', terminal, 'cols', `${columns}`, 'rows', `${rows}`]);
  }

  /** Resolves once a person sees what matches, in rows; rejects when it ends, or takes too long. */
  async showsOnScreen(pattern: RegExp): Promise<void> {
    await this.#until(pattern, () => this.screen.join('\n'));
  }

  /** Resolves once it has written what matches, colours aside; rejects when it ends, or takes too long. */
  async shows(pattern: RegExp): Promise<void> {
    await this.#until(pattern, () => this.#text.replaceAll(/\x1b\[[\d;]*m/g, ''));
  }

  async #until(pattern: RegExp, read: () => string): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let look: () => void = () => undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const fail = (why: string): void => reject(new Error(`${why} ${pattern}:\n${read()}`));
        look = () => {
          if (pattern.test(read())) resolve();
        };
        this.#onText.add(look);
        timer = setTimeout(() => fail('waited in vain for'), LIMIT_MS);
        look();
        this.ended.then(() => fail('ended without'), reject);
      });
    } finally {
      clearTimeout(timer);
      this.#onText.delete(look);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
    await this.ended.catch(() => undefined);
    this.#emulator.dispose();
  }
}

/** The colours of a terminal by their numbers, as far as programs here have them. */
const COLOURS: Readonly<Record<number, PictureColour>> = { 1: 'red', 2: 'green', 3: 'yellow', 8: 'grey' };

function marksOf(row: xterm.IBufferLine, columns: number): PictureMark[] {
  const marks: PictureMark[] = [];
  for (let at = 0; at < columns; at++) {
    const cell = row.getCell(at);
    if (cell === undefined || (cell.isAttributeDefault() && cell.isFgDefault())) continue;
    const colour = cell.isDim() === 0 ? COLOURS[cell.getFgColor()] : 'grey';
    const [isBold, isInverse] = [cell.isBold() !== 0, cell.isInverse() !== 0];
    const last = marks.at(-1);
    if (last?.end === at && last.colour === colour && last.isBold === isBold && last.isInverse === isInverse)
      marks[marks.length - 1] = { ...last, end: at + 1 };
    else
      marks.push({ begin: at, end: at + 1, isBold, isInverse, ...(colour === undefined ? {} : { colour }) });
  }
  return marks;
}
