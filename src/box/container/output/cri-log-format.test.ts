import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatCriLog, MAX_LOG_LINE_BYTES, measureCriLog } from './cri-log-format.js';

const T = '2006-01-02T15:04:05.999999999Z';

/** What stands in the log and how much of the input it covers. */
function format(input: string, final = false): [string, number] {
  const { text, consumed } = formatCriLog(Buffer.from(input), 'stdout', T, final);
  return [text.toString().replaceAll(`${T} stdout `, ''), consumed];
}

describe('formatCriLog', () => {
  it('marks whole lines F and leaves the beginning of one for later', () => {
    expect(format('a\n\nbc\nrest')).toEqual(['F a\nF \nF bc\n', 6]);
  });

  it('gives out the rest as a part when no more will come', () => {
    expect(format('a\nrest', true)).toEqual(['F a\nP rest\n', 6]);
    expect(format('a\n', true)).toEqual(['F a\n', 2]);
  });

  it('keeps carriage returns and bytes that are no text', () => {
    const { text } = formatCriLog(Buffer.of(0x0d, 0x00, 0xff, 0x0a), 'stderr', T, false);
    expect(text.subarray(-5)).toEqual(Buffer.of(0x20, 0x0d, 0x00, 0xff, 0x0a));
    expect(text.toString('latin1')).toContain(`${T} stderr F `);
  });

  it('cuts a line that is too long, and only that', () => {
    const full = 'x'.repeat(MAX_LOG_LINE_BYTES);
    expect(format(`${full}\n`)).toEqual([`F ${full}\n`, MAX_LOG_LINE_BYTES + 1]);
    expect(format(`${full}y\n`)).toEqual([`P ${full}\nF y\n`, MAX_LOG_LINE_BYTES + 2]);
  });

  it('is undone by measureCriLog, whatever the output and wherever it is cut', () => {
    const piece = fc.oneof(fc.constant('\n'), fc.string(), fc.constant('x'.repeat(MAX_LOG_LINE_BYTES)));
    fc.assert(
      fc.property(fc.array(piece), fc.boolean(), fc.nat(), (pieces, final, cut) => {
        const input = Buffer.from(pieces.join(''));
        const { text, consumed } = formatCriLog(input, 'stdout', T, final);
        if (final) expect(consumed).toBe(input.length);
        expect(measureCriLog(text)).toEqual({ stdout: consumed, stderr: 0, wholeBytes: text.length });
        // A torn end counts for nothing.
        const torn = measureCriLog(text.subarray(0, cut % (text.length + 1)));
        expect(torn.stdout).toBeLessThanOrEqual(consumed);
        expect(measureCriLog(text.subarray(0, torn.wholeBytes)).stdout).toBe(torn.stdout);
      }),
    );
  });

  it('gives back the output when the lines are put together again', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constant('\n'), fc.string())), (pieces) => {
        const input = pieces.join('');
        const [text] = format(input, true);
        const lines = text === '' ? [] : text.slice(0, -1).split('\n');
        expect(lines.map((line) => line.slice(2) + (line.startsWith('F') ? '\n' : '')).join('')).toBe(input);
      }),
    );
  });
});
