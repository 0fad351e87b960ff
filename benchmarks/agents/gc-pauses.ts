import { type BenchProcessOptions } from './bench-process.js';

/** Pauses of the garbage collector of a process. */
export interface PauseFigures {
  readonly count: number;
  readonly totalMs: number;
  readonly longestMs: number;
}

/** `[12:0x5f00]  345 ms: Scavenge 5.2 (6.0) -> 4.6 (7.0) MB, 1.20 / 0.00 ms  (average …`, of a collection. */
const COLLECTION = /^\[\d+:0x[0-9a-f]+\].*: (?:Scavenge|Mark-Compact|Minor)/;
/** Before the slash is the pause. A newer V8 has `pooled: 0.0 MB, ` in front of it. */
const PAUSE = / MB, (?:pooled: [\d.]+ MB, )?(\d+(?:\.\d+)?) \/ /;

/** Counts the pauses that Node tells of on its standard output, those of its threads included, as told by {@link processOptions}. */
export class GcPauses {
  readonly processOptions: BenchProcessOptions = {
    onLine: (line) => this.note(line),
    nodeFlags: ['--trace-gc'],
  };
  #pausesMs: number[] = [];
  #unread: string | undefined;

  /** To be given each line; all other lines are passed over. */
  note(line: string): void {
    if (!COLLECTION.test(line)) return;
    const pauseMs = PAUSE.exec(line)?.[1];
    if (pauseMs === undefined) this.#unread ??= line;
    else this.#pausesMs.push(Number(pauseMs));
  }

  /** Those since the last call. Throws when a collection could not be read: no pauses are not few pauses. */
  take(): PauseFigures {
    if (this.#unread !== undefined) throw new Error(`no pause can be read in "${this.#unread}"`);
    const pausesMs = this.#pausesMs;
    this.#pausesMs = [];
    const totalMs = pausesMs.reduce((total, each) => total + each, 0);
    return { count: pausesMs.length, totalMs, longestMs: Math.max(0, ...pausesMs) };
  }
}
