import { type BenchProcessOptions } from './bench-process.js';

/** Pauses of the garbage collector of a process. */
export interface PauseFigures {
  readonly count: number;
  readonly totalMs: number;
  readonly longestMs: number;
}

/** `[12:0x5f00]  345 ms: Scavenge 5.2 (6.0) -> 4.6 (7.0) MB, 1.20 / 0.00 ms  (average …`: before the slash is the pause. */
const LINE = /^\[\d+:0x[0-9a-f]+\].*: (?:Scavenge|Mark-Compact|Minor)[^,]*, (\d+(?:\.\d+)?) \/ /;

/** Counts the pauses that Node tells of on its standard output, those of its threads included, as told by {@link processOptions}. */
export class GcPauses {
  readonly processOptions: BenchProcessOptions = {
    onLine: (line) => this.note(line),
    nodeFlags: ['--trace-gc'],
  };
  #pausesMs: number[] = [];

  /** To be given each line; all other lines are passed over. */
  note(line: string): void {
    const pauseMs = LINE.exec(line)?.[1];
    if (pauseMs !== undefined) this.#pausesMs.push(Number(pauseMs));
  }

  /** Those since the last call. */
  take(): PauseFigures {
    const pausesMs = this.#pausesMs;
    this.#pausesMs = [];
    const totalMs = pausesMs.reduce((total, each) => total + each, 0);
    return { count: pausesMs.length, totalMs, longestMs: Math.max(0, ...pausesMs) };
  }
}
