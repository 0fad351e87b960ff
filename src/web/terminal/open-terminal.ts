/**
 * A terminal in the page, in a script of its own: it is loaded when the first one is opened.
 *
 * @module
 */
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import { adoptStyles } from './adopted-styles.js';

/** The size of a terminal in characters. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** What a terminal reports. */
export interface TerminalOptions {
  /** Typed or pasted. */
  readonly onInput: (bytes: Uint8Array<ArrayBuffer>) => void;
  readonly onSize: (size: TerminalSize) => void;
}

/** A terminal that is open. */
export interface OpenTerminal {
  readonly size: TerminalSize;
  /** Calls back once it has drawn that. */
  write(data: Uint8Array, onDrawn: () => void): void;
  focus(): void;
  /** It shows what it has, and takes nothing more. */
  end(): void;
  close(): void;
}

const SCROLLBACK = 5_000;
/** WCAG 2.2, AA: whatever colours a program chooses. */
const CONTRAST = 4.5;

/** Opens a terminal that fills an element and follows its size. */
export function openTerminal(box: HTMLElement, { onInput, onSize }: TerminalOptions): OpenTerminal {
  adoptStyles(document);
  const terminal = new Terminal({
    ...{ cursorBlink: true, scrollback: SCROLLBACK, fontSize: 13, screenReaderMode: true },
    ...{ fontFamily: styleOf(box, 'mono'), theme: themeOf(box), minimumContrastRatio: CONTRAST },
    // What a program prints leads nowhere.
    linkHandler: { activate: () => undefined },
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(box);
  fit.fit();
  const encoder = new TextEncoder();
  terminal.onData((text) => onInput(encoder.encode(text)));
  // Reports of the mouse in an old protocol, a byte a character.
  terminal.onBinary((text) => onInput(Uint8Array.from(text, (character) => character.charCodeAt(0))));
  terminal.onResize(({ cols, rows }) => onSize({ columns: cols, rows }));
  // Tab is for the program, so that another key has to lead out.
  terminal.attachCustomKeyEventHandler(({ key, shiftKey }) => !(key === 'Tab' && shiftKey));
  const observer = new ResizeObserver(() => fit.fit());
  observer.observe(box);
  const onTheme = (): void => {
    terminal.options.theme = themeOf(box);
  };
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  scheme.addEventListener('change', onTheme);
  addEventListener('podloop-theme', onTheme);
  return {
    get size() {
      return { columns: terminal.cols, rows: terminal.rows };
    },
    write: (data, onDrawn) => terminal.write(data, onDrawn),
    focus: () => terminal.focus(),
    end: () => {
      terminal.options.disableStdin = true;
      terminal.options.cursorBlink = false;
    },
    close: () => {
      observer.disconnect();
      scheme.removeEventListener('change', onTheme);
      removeEventListener('podloop-theme', onTheme);
      terminal.dispose();
    },
  };
}

function styleOf(box: HTMLElement, name: string): string {
  return getComputedStyle(box).getPropertyValue(`--${name}`).trim();
}

function themeOf(box: HTMLElement): Record<string, string> {
  return {
    ...{ background: styleOf(box, 'surface'), foreground: styleOf(box, 'text') },
    ...{ cursor: styleOf(box, 'accent'), cursorAccent: styleOf(box, 'surface') },
    selectionBackground: styleOf(box, 'accent-soft'),
  };
}
