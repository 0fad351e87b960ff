import { stripVTControlCharacters } from 'node:util';
import { messageOf } from '#base/errors/errors.js';
import { type Clock } from '#base/time/clock.js';
import { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
import { type Key } from './keys.js';
import { type PodAccess } from './pod-access.js';
import { type Row } from './row.js';
import { type ScreenSize } from './screen-text.js';
import {
  AT_BEGIN,
  AT_END,
  PAGE_KEYS,
  type PageLine,
  pageRows,
  type PageView,
  pressPageKey,
} from './text-page.js';

/** What {@link PodPages} need. */
export interface PodPagesOptions {
  readonly clock: Clock;
  /** Something on the page has changed. */
  readonly onChange: () => void;
}

/** The lines of a log that can be scrolled back to; those before are counted. */
const MAX_LOG_LINES = 5_000;
const MAX_LINE_LENGTH = 10_000;
const REFRESH_MS = 2_000;
const KEYS = '? help  q back  ↑↓ scroll  / search';

interface Page {
  readonly title: string;
  readonly keys: string;
  lines: () => readonly PageLine[];
  view: PageView;
  /** Set for a page about one pod, which can be opened for another of its containers. */
  readonly reopen?: (change: 'container' | 'previous') => void;
  readonly ending: AbortController;
}

/** The pages of text that a screen of pods leads to, one above the other: details, logs, events, help. */
export class PodPages implements Disposable {
  readonly #options: PodPagesOptions;
  #pages: Page[] = [];

  constructor(options: PodPagesOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#pages.length > 0;
  }

  /** Shows lines that may change. */
  openText(title: string, lines: () => readonly PageLine[], view: PageView = AT_BEGIN): void {
    this.#open({ title, keys: KEYS, lines, view, ending: new AbortController() });
  }

  /** Shows all that is known of the pod, and keeps it up to date. */
  openDetails(pod: PodRef, access: PodAccess): void {
    let lines: readonly PageLine[] = [{ text: 'reading …' }];
    const ending = new AbortController();
    const { signal } = ending;
    const refresh = async (): Promise<void> => {
      for (;;) {
        const read = await access.details(pod, signal).then(
          (texts) => texts.map((text) => ({ text })),
          (error: unknown) => [{ text: toSentence(error), style: 'unhealthy' as const }],
        );
        if (signal.aborted) return;
        lines = read;
        this.#options.onChange();
        await this.#options.clock.sleep(REFRESH_MS, signal).catch(() => undefined);
      }
    };
    this.#open({
      title: `Details   ${formatPod(pod)}`,
      keys: KEYS,
      lines: () => lines,
      view: AT_BEGIN,
      ending,
    });
    void refresh();
  }

  /** Shows the log of a container of the pod and follows it: the one at that place of its list (default: the first). */
  openLog(pod: PodRef, access: PodAccess, { at = 0, isPrevious = false } = {}): void {
    const log = new LogLines();
    const ending = new AbortController();
    const { signal } = ending;
    let names: readonly string[] = [];
    const follow = async (): Promise<void> => {
      names = await access.containers(pod, signal);
      const container = names[at % names.length]!;
      log.heading =
        names.length > 1
          ? `container ${container} (${(at % names.length) + 1} of ${names.length})`
          : container;
      await access.followLog(
        { pod, container, isPrevious },
        (line) => {
          log.add(line);
          this.#options.onChange();
        },
        signal,
      );
    };
    const what = isPrevious ? 'Log before the last restart' : 'Log';
    const reopen = (change: 'container' | 'previous'): void => {
      this.#close();
      const next =
        change === 'container'
          ? { at: (at + 1) % Math.max(1, names.length), isPrevious }
          : { at, isPrevious: !isPrevious };
      this.openLog(pod, access, next);
    };
    const keys = '? help  q back  c container  p previous  G end  / search';
    const title = `${what}   ${formatPod(pod)}`;
    this.#open({ title, keys, lines: () => log.lines(), view: AT_END, reopen, ending });
    follow().catch((error: unknown) => {
      if (signal.aborted) return;
      log.fail(toSentence(error));
      this.#options.onChange();
    });
  }

  /** Takes a key in. */
  press(key: Key, size: ScreenSize): void {
    const page = this.#pages.at(-1);
    if (page === undefined) return;
    const view = pressPageKey(page.view, key, { lines: page.lines(), size: bodyOf(size) });
    if (view === 'back') {
      this.#close();
      return;
    }
    if (view !== undefined) page.view = view;
    else if (key === 'c') page.reopen?.('container');
    else if (key === 'p') page.reopen?.('previous');
    else if (key === '?' || key === 'h') this.openHelp([]);
  }

  /** Shows the keys: those that are given, then those of pages. */
  openHelp(keys: readonly (readonly [keys: string, what: string])[]): void {
    if (this.#pages.at(-1)?.title === 'Keys') return;
    const width = Math.max(...[...keys, ...PAGE_KEYS].map(([names]) => names.length)) + 2;
    const toLine = ([names, what]: readonly [string, string]): PageLine => ({
      text: `  ${names.padEnd(width)}${what}`,
      indent: width + 2,
    });
    const lines: PageLine[] = [
      ...(keys.length === 0
        ? []
        : [{ text: 'In the list', style: 'title' as const }, ...keys.map(toLine), { text: '' }]),
      { text: 'In a page', style: 'title' },
      ...PAGE_KEYS.map(toLine),
    ];
    this.openText('Keys', () => lines);
  }

  /** The rows of the page that is on top. */
  rows(size: ScreenSize): Row[] {
    const page = this.#pages.at(-1);
    if (page === undefined) return [];
    const { rows, place } = pageRows(page.lines(), page.view, bodyOf(size));
    const empty = Array.from({ length: Math.max(0, bodyOf(size).rows - rows.length) }, () => ({ text: '' }));
    const { search, isTyping } = page.view;
    const found = search === '' ? '' : `search: ${search} (n N)  `;
    const foot: Row = isTyping
      ? { text: `/${search}▏`, style: 'title' }
      : { text: `${place}  ${found}${page.keys}`, style: 'dim' };
    return [{ text: page.title, style: 'header' as const }, ...rows, ...empty, foot].slice(
      0,
      Math.max(0, size.rows),
    );
  }

  /** Ends what the pages wait for. */
  [Symbol.dispose](): void {
    while (this.isOpen) this.#close();
  }

  #open(page: Page): void {
    this.#pages.push(page);
    this.#options.onChange();
  }

  #close(): void {
    this.#pages.pop()?.ending.abort();
    this.#options.onChange();
  }
}

/** What is left of the screen for the text of a page. */
function bodyOf({ columns, rows }: ScreenSize): ScreenSize {
  return { columns, rows: Math.max(1, rows - 2) };
}

function toSentence(error: unknown): string {
  return messageOf(error).replace(/^error: /, '');
}

/** The newest lines of a log. */
class LogLines {
  heading = '';
  #lines: PageLine[] = [];
  #dropped = 0;

  add(line: string): void {
    // Colours of a program are left out, and what else it wants of a terminal.
    const text = stripVTControlCharacters(line.slice(0, MAX_LINE_LENGTH))
      .replaceAll('\t', '    ')
      .replace(/\r$/, '');
    this.#lines.push({ text });
    if (this.#lines.length <= MAX_LOG_LINES) return;
    this.#lines.shift();
    this.#dropped++;
  }

  fail(text: string): void {
    this.#lines.push({ text, style: 'unhealthy' });
  }

  lines(): readonly PageLine[] {
    const head: PageLine[] = [
      ...(this.heading === '' ? [] : [{ text: `-- ${this.heading} --`, style: 'dim' as const }]),
      ...(this.#dropped === 0
        ? []
        : [{ text: `-- ${this.#dropped} earlier lines are not here --`, style: 'dim' as const }]),
    ];
    return [...head, ...this.#lines];
  }
}
