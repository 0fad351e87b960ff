import { type JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

const THEME = 'podloop-theme';

/** Dark, light, or as the browser has it. */
export function ThemeButton(): JSX.Element {
  const [theme, setTheme] = useState(readTheme);
  useEffect(() => {
    if (theme === 'auto') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
    storeTheme(theme);
    dispatchEvent(new Event('podloop-theme'));
  }, [theme]);
  const next = { auto: 'dark', dark: 'light', light: 'auto' }[theme] ?? 'auto';
  const sign = { auto: '◐', dark: '☾', light: '☀' }[theme] ?? '◐';
  return (
    <button
      type="button"
      class="icon"
      title={`Colours: ${theme}`}
      aria-label={`Colours: ${theme}; change to ${next}`}
      onClick={() => setTheme(next)}
    >
      {sign}
    </button>
  );
}

const KEYS = [
  ['1 – 5', 'the views'],
  ['/', 'filter'],
  ['← →', 'earlier and later'],
  ['+ −', 'zoom; also with the wheel on the axis, or Ctrl and the wheel'],
  ['L', 'follow what happens'],
  ['0', 'back to the last 15 minutes'],
  ['↑ ↓', 'choose a row'],
  ['[ ]', 'step through what happened in the row'],
  ['Space', 'play a recording, or stop it'],
  ['Esc', 'close'],
] as const;

const SIGNS = [
  ['bar ok', 'a container runs'],
  ['bar ended', 'it has ended with exit code 0'],
  ['bar failed', 'it has ended with another exit code'],
  ['bar pull', 'its image is pulled'],
  ['bar hang', 'a call of the runtime hangs, or a finding lasts'],
  ['sign died', 'a container died'],
  ['sign restart', 'it was restarted'],
  ['sign good', 'a probe succeeds'],
  ['sign fails', 'a probe fails'],
  ['sign event', 'a warning'],
] as const;

/** Opens {@link Help}. */
export function HelpButton({ onClick }: { onClick: () => void }): JSX.Element {
  return (
    <button
      type="button"
      class="icon"
      aria-label="Keys and meaning"
      title="Keys and meaning (?)"
      onClick={onClick}
    >
      ?
    </button>
  );
}

/** What keys do, and what signs mean. */
export function Help({ onClose }: { onClose: () => void }): JSX.Element {
  const closing = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // Back to where it was, once this is closed.
    const before = document.activeElement;
    closing.current?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') onClose();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [onClose]);
  return (
    <div class="veil" onClick={(event) => event.target === event.currentTarget && onClose()}>
      <div class="dialog" role="dialog" aria-modal="true" aria-label="Keys and meaning">
        <div class="dialog-head">
          <h2>Keys and meaning</h2>
          <button type="button" class="icon" aria-label="Close" ref={closing} onClick={onClose}>
            ✕
          </button>
        </div>
        <div class="columns">
          <dl>
            {KEYS.map(([key, words]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{words}</dd>
              </div>
            ))}
          </dl>
          <dl>
            {SIGNS.map(([sign, words]) => (
              <div key={sign}>
                <dt>
                  <i class={`legend ${sign}`} aria-hidden="true" />
                </dt>
                <dd>{words}</dd>
              </div>
            ))}
          </dl>
        </div>
      </div>
    </div>
  );
}

/** The sign of podloop. */
export function Logo(): JSX.Element {
  return (
    <svg class="logo" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
      <rect width="32" height="32" rx="8" class="tile" />
      <path d="M16 6a10 10 0 1 0 10 10" fill="none" stroke="#fff" stroke-width="3.2" stroke-linecap="round" />
      <circle cx="16" cy="16" r="3.6" fill="#fff" />
      <path d="m21.5 5 4.6 3.1-4.7 3z" fill="#fff" />
    </svg>
  );
}

/** A way for the keyboard past the head of the page. */
export function SkipLink(): JSX.Element {
  const skip = (event: Event): void => {
    event.preventDefault();
    document.getElementById('main')?.focus();
  };
  return (
    <a class="skip" href="#main" onClick={skip}>
      Skip to the content
    </a>
  );
}

/** Whether the help is open; `?` opens and closes it, and `onDigit` gets the digits. */
export function useKeys(onDigit: (digit: number) => void): [boolean, (isOpen: boolean) => void] {
  const [isHelpOpen, setHelpOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (/^[1-9]$/.test(event.key)) onDigit(Number(event.key));
      if (event.key === '?') setHelpOpen((isOpen) => !isOpen);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return [isHelpOpen, setHelpOpen];
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  );
}

/** A file that was opened from a folder may have no storage. */
function readTheme(): string {
  try {
    return localStorage.getItem(THEME) ?? 'auto';
  } catch {
    return 'auto';
  }
}

function storeTheme(theme: string): void {
  try {
    localStorage.setItem(THEME, theme);
  } catch {
    // It holds as long as the page is open.
  }
}
