import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { LineOutput } from './line-output.js';

/** A stream whose writes end when the test says so. */
class HeldStream extends Writable {
  readonly lines: string[] = [];
  #held: ((error?: Error) => void)[] = [];

  constructor() {
    super({ highWaterMark: 1, decodeStrings: false });
  }

  override _write(chunk: string, _encoding: string, callback: (error?: Error) => void): void {
    this.lines.push(chunk);
    this.#held.push(callback);
  }

  finishOne(error?: Error): void {
    this.#held.shift()?.(error);
  }
}

const epipe = (): Error => Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });

describe('line output', () => {
  it('waits for a reader who is slow', async () => {
    const stream = new HeldStream();
    const output = new LineOutput(stream);
    let written = false;
    const write = output.writeLine('one').then(() => (written = true));
    await Promise.resolve();
    expect(written).toBe(false);
    stream.finishOne();
    await write;
    expect(stream.lines).toEqual(['one\n']);
  });

  it('shows characters that would reorder text on a terminal, and gives a program the text as it is', () => {
    const lines = (isTTY: boolean): string[] => {
      const stream = Object.assign(new HeldStream(), { isTTY });
      void new LineOutput(stream).writeLine('{"name":"web\u202Egpj"}');
      return stream.lines;
    };
    expect(lines(true)).toEqual(['{"name":"web\\u202Egpj"}\n']);
    expect(lines(false)).toEqual(['{"name":"web\u202Egpj"}\n']);
  });

  it('ends quietly when the reader goes away, and drops what comes later', async () => {
    const stream = new HeldStream();
    const output = new LineOutput(stream);
    const write = output.writeLine('one');
    stream.finishOne(epipe());
    await write;
    await output.writeLine('two');
    expect(output.ended.aborted).toBe(true);
    expect(output.failure).toBeUndefined();
    expect(stream.lines).toEqual(['one\n']);
  });

  it('does not wait for a reader who is slow when it is told to end', async () => {
    const stream = new HeldStream();
    const stop = new AbortController();
    const write = new LineOutput(stream).writeLine('one', stop.signal);
    stop.abort();
    await write;
    expect(stream.lines).toEqual(['one\n']);
  });

  it('keeps any other failure', async () => {
    const stream = new HeldStream();
    const output = new LineOutput(stream);
    const write = output.writeLine('one');
    stream.finishOne(new Error('disk full'));
    await write;
    expect(output.failure?.message).toBe('disk full');
    await expect(output.assertWritten()).rejects.toThrow('disk full');
  });

  it('says why what is written does not arrive', () => {
    const output = new LineOutput(new HeldStream());
    void output.writeLine('short');
    expect(output.findProblem()).toBeUndefined();
    void output.write('x'.repeat(2_000_000));
    expect(output.findProblem()).toMatch(/^\d{7} bytes wait for their reader$/);
    const [broken, left] = [new HeldStream(), new HeldStream()];
    const outputs = [new LineOutput(broken), new LineOutput(left)];
    broken.destroy(new Error('no space left'));
    left.destroy(epipe());
    return expect
      .poll(() => outputs.map((each) => each.findProblem()))
      .toEqual(['no space left', 'nobody reads it any more']);
  });
});
