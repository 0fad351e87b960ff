import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LiveScreen } from './live-screen.js';
import { cutCells } from './cell-text.js';
import { type Terminal } from '../../terminal.js';

/** A terminal that remembers what was written to it, and whose size a test changes. */
class FakeTerminal implements Terminal {
  columns = 40;
  rows = 6;
  written = '';
  readonly resized = new Set<() => void>();
  readonly exiting = new Set<() => void>();

  write(text: string): void {
    this.written += text;
  }

  onResize(listener: () => void): () => void {
    this.resized.add(listener);
    return () => this.resized.delete(listener);
  }

  onExit(listener: () => void): () => void {
    this.exiting.add(listener);
    return () => this.exiting.delete(listener);
  }

  /** What was written since the last call. */
  take(): string {
    const { written } = this;
    this.written = '';
    return written;
  }
}

function scene() {
  const terminal = new FakeTerminal();
  const clock = new FakeClock();
  const shown = { title: 'first' };
  const show = (title: string): void => void (shown.title = title);
  const render = ({ columns }: { readonly columns: number }): string[] => [cutCells(shown.title, columns)];
  const screen = new LiveScreen({ terminal, clock, render });
  return { terminal, clock, screen, show };
}

const RESTORED = '\x1b[?7h\x1b[?25h\x1b[?1049l';

describe('the screen of pods', () => {
  it('takes the other screen of the terminal and draws from its top', () => {
    const { terminal, screen } = scene();
    expect(terminal.take()).toMatch(/^\x1b\[\?1049h\x1b\[\?25l.*\x1b\[Hfirst\x1b\[K\r\n/);
    screen.close();
  });

  it('is drawn again when something on it changes, and not otherwise', async () => {
    const { terminal, clock, screen, show } = scene();
    terminal.take();
    await clock.advance(1_000);
    expect(terminal.take()).toBe('');
    show('second');
    await clock.advance(1_000);
    expect(terminal.take().split('\x1b[H')).toEqual(['', expect.stringMatching(/^second/)]);
    screen.close();
  });

  it('is drawn again at once when the size changes, within the new one', () => {
    const { terminal, screen } = scene();
    terminal.take();
    terminal.columns = 3;
    terminal.rows = 1;
    for (const listener of terminal.resized) listener();
    expect(terminal.take()).toBe('\x1b[Hfi…\x1b[K');
    screen.close();
  });

  it('gives the terminal back once, and leaves it alone from then on', async () => {
    const { terminal, clock, screen, show } = scene();
    terminal.take();
    screen.close();
    screen.close();
    expect(terminal.take()).toBe(RESTORED);
    show('second');
    screen.draw();
    await clock.advance(1_000);
    expect(terminal.take()).toBe('');
    expect(terminal.resized.size + terminal.exiting.size).toBe(0);
  });

  it('gives the terminal back when the process ends without closing it', () => {
    const { terminal } = scene();
    terminal.take();
    for (const listener of [...terminal.exiting]) listener();
    expect(terminal.take()).toBe(RESTORED);
  });
});
