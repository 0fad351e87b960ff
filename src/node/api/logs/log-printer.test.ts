import { describe, expect, it } from 'vitest';
import { LogPrinter } from './log-printer.js';
import { LineSplitter } from './split-lines.js';

const KIB = 1024;

describe('a line without an end', () => {
  it('is handed out in pieces, one after the other, with one time', () => {
    const printer = new LogPrinter({ timestamps: true });
    const text = 'x'.repeat(16 * KIB);
    let held = 0;
    let out = '';
    for (let parts = 0; parts < 64; parts++) {
      printer.push(Buffer.from(`2026-01-02T03:04:05.000000000Z stdout P ${text}`));
      const taken = printer.take().toString();
      held = taken === '' ? held + text.length : 0;
      expect(held).toBeLessThanOrEqual(256 * KIB);
      out += taken;
    }
    printer.push(Buffer.from('2026-01-02T03:04:06.000000000Z stdout F end'));
    out += printer.take().toString();
    expect(out).toBe(`2026-01-02T03:04:05.000000000Z ${text.repeat(64)}end\n`);
  });

  it('is handed out in pieces, too, where a runtime has broken it behind every byte, or before any', () => {
    const printer = new LogPrinter({ timestamps: false });
    const push = (text: string): void =>
      printer.push(Buffer.from(`2026-01-02T03:04:05.000000000Z stdout ${text}`));
    for (let parts = 0; parts < 256 * KIB; parts++) push('P x');
    expect(printer.take().length).toBe(0);
    push('P x');
    for (let parts = 0; parts < 1_000; parts++) push('P ');
    push('F end');
    expect(printer.take().toString()).toBe(`${'x'.repeat(256 * KIB + 1)}end\n`);
  });

  it('that no runtime writes is passed over whole', () => {
    const splitter = new LineSplitter();
    const lines: string[] = [];
    const push = (text: string): void => {
      for (const line of splitter.push(Buffer.from(text))) lines.push(line.toString());
    };
    push('before\n');
    for (let parts = 0; parts < 20; parts++) push('x'.repeat(64 * KIB));
    push('rest\nbehind\n');
    expect(lines).toEqual(['before', 'behind']);
    expect(splitter.restSize).toBe(0);
  });
});
