import { type PlegReport } from '#kube/node/pleg-report.js';
import { type CliHost } from '../../cli-host.js';
import { ScreenControl } from '../../shared/screen/screen-control.js';
import { type ScreenSize } from '../../shared/screen/screen-text.js';
import { type Terminal } from '../../terminal.js';
import { EventRates } from './event-rates.js';
import { formatMs } from './format-ms.js';
import { type Key } from '../../shared/screen/keys.js';
import { paintRows } from '../../shared/screen/row.js';
import { selectPods } from './sort-pods.js';
import { topRows } from './top-rows.js';
import { pressKey, type TopView } from './top-view.js';

/** What a {@link TopScreen} needs. */
export interface TopScreenOptions {
  readonly terminal: Terminal;
  readonly host: Pick<CliHost, 'stdin' | 'clock' | 'handleSuspension'>;
  readonly title: string;
  /** What is shown first. */
  readonly report: PlegReport;
  readonly view: TopView;
  readonly withColor: boolean;
  /** Called when somebody quits, or the terminal is gone. */
  readonly quit: () => void;
}

/** After so long without a newer report that is said. */
const SILENT_AFTER_MS = 4_000;

/** The screen of `podloop top`: the newest report, seen as somebody likes. */
export class TopScreen implements Disposable {
  readonly #options: TopScreenOptions;
  readonly #rates = new EventRates();
  readonly #screen: ScreenControl;
  #view: TopView;
  #shown: PlegReport;
  #shownRates: Pick<EventRates, 'history' | 'byType'>;
  #newest: PlegReport;
  #newestAtMs: number;
  #problem: string | undefined;

  /** Takes the terminal. */
  constructor(options: TopScreenOptions) {
    this.#options = options;
    const { terminal, host, report, view, quit } = options;
    this.#view = view;
    this.#shown = report;
    this.#newest = report;
    this.#newestAtMs = host.clock.monotonicMs();
    this.#rates.add(report);
    this.#shownRates = this.#ratesNow();
    this.#screen = new ScreenControl({
      ...{ host, terminal, onEnd: quit },
      render: (size) => this.#render(size),
      onKey: (key) => this.press(key),
    });
  }

  /** Shows this one from now on, or once it is no longer paused. */
  take(report: PlegReport): void {
    this.#newest = report;
    this.#newestAtMs = this.#options.host.clock.monotonicMs();
    this.#problem = undefined;
    this.#rates.add(report);
    this.#showNewest();
    this.#screen.draw();
  }

  /** Says why there is no newer report. */
  fail(problem: string): void {
    this.#problem = problem;
    this.#screen.draw();
  }

  /** Takes a key in. */
  press(key: Key): void {
    const { view, action } = pressKey(this.#view, key, selectPods(this.#shown, this.#view).length);
    this.#view = view;
    this.#showNewest();
    if (action === 'quit') this.#options.quit();
    else if (action === 'suspend') this.#screen.suspend();
    else if (action === 'redraw') this.#screen.redraw();
    else this.#screen.draw();
  }

  /** Gives the terminal back. */
  [Symbol.dispose](): void {
    this.#screen[Symbol.dispose]();
  }

  /** Not while the screen is paused, for somebody who reads it. */
  #showNewest(): void {
    if (this.#view.isPaused) return;
    this.#shown = this.#newest;
    this.#shownRates = this.#ratesNow();
  }

  #ratesNow(): Pick<EventRates, 'history' | 'byType'> {
    const { history, byType } = this.#rates;
    return { history, byType };
  }

  #render(size: ScreenSize): string[] {
    const { title, withColor } = this.#options;
    const scene = {
      title,
      report: this.#shown,
      rates: this.#shownRates,
      view: this.#view,
      problem: this.#findProblem(),
    };
    return paintRows(topRows(scene, size), { columns: size.columns, withColor });
  }

  #findProblem(): string | undefined {
    const forMs = this.#options.host.clock.monotonicMs() - this.#newestAtMs;
    const silent = `no answer for ${formatMs(forMs)}; what is below is from then`;
    if (this.#problem !== undefined) return `${this.#problem} (${silent})`;
    return forMs > SILENT_AFTER_MS ? silent : undefined;
  }
}
