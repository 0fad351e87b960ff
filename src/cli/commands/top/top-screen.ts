import { type PlegReport } from '#kube/node/pleg-report.js';
import { type Clock } from '#base/time/clock.js';
import { LiveScreen } from '../../shared/screen/live-screen.js';
import { type ScreenSize } from '../../shared/screen/screen-text.js';
import { type Terminal } from '../../terminal.js';
import { EventRates } from './event-rates.js';
import { formatMs } from './format-ms.js';
import { type Key } from './keys.js';
import { paintRows } from './row.js';
import { selectPods } from './sort-pods.js';
import { topRows } from './top-rows.js';
import { pressKey, type TopAction, type TopView } from './top-view.js';

/** What a {@link TopScreen} needs. */
export interface TopScreenOptions {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly title: string;
  /** What is shown first. */
  readonly report: PlegReport;
  readonly view: TopView;
  readonly withColor: boolean;
}

/** After so long without a newer report that is said. */
const SILENT_AFTER_MS = 4_000;

/** The screen of `podloop top`: the newest report, seen as somebody likes. */
export class TopScreen implements Disposable {
  readonly #options: TopScreenOptions;
  readonly #rates = new EventRates();
  readonly #screen: LiveScreen;
  #view: TopView;
  #shown: PlegReport;
  #shownRates: Pick<EventRates, 'history' | 'byType'>;
  #newest: PlegReport;
  #newestAtMs: number;
  #problem: string | undefined;

  /** Takes the terminal. */
  constructor(options: TopScreenOptions) {
    this.#options = options;
    const { terminal, clock, report, view } = options;
    this.#view = view;
    this.#shown = report;
    this.#newest = report;
    this.#newestAtMs = clock.monotonicMs();
    this.#rates.add(report);
    this.#shownRates = this.#ratesNow();
    this.#screen = new LiveScreen({ terminal, clock, render: (size) => this.#render(size) });
  }

  /** Shows this one from now on, or once it is no longer paused. */
  take(report: PlegReport): void {
    this.#newest = report;
    this.#newestAtMs = this.#options.clock.monotonicMs();
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

  /** Takes a key in; returns what else is to be done. */
  press(key: Key): TopAction | undefined {
    const { view, action } = pressKey(this.#view, key, selectPods(this.#shown, this.#view).length);
    this.#view = view;
    this.#showNewest();
    if (action === 'redraw') this.#screen.redraw();
    else this.#screen.draw();
    return action;
  }

  /** Gives the terminal back for a while. */
  suspend(): void {
    this.#screen.suspend();
  }

  /** Takes the terminal again. */
  resume(): void {
    this.#screen.resume();
  }

  /** Gives the terminal back. */
  [Symbol.dispose](): void {
    this.#screen.close();
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
    const forMs = this.#options.clock.monotonicMs() - this.#newestAtMs;
    const silent = `no answer for ${formatMs(forMs)}; what is below is from then`;
    if (this.#problem !== undefined) return `${this.#problem} (${silent})`;
    return forMs > SILENT_AFTER_MS ? silent : undefined;
  }
}
